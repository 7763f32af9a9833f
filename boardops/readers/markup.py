"""XML read as a stream into flat texts by path, safely, and as far as it goes.

For readers of vendor XML. Entity declarations are refused (no expansion), an inlined DTD is allowed, depth and the
number of values are bounded. What stands before an error is given all the same: half a file is still evidence.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from xml.parsers import expat

MAX_DEPTH = 32
MAX_VALUES = 400_000


class MarkupError(Exception):
    """The text is hostile, and nothing of it is used. One sentence."""


@dataclass(slots=True)
class Element:
    """One element: the texts of its leaves by path, in the order of the file."""

    name: str
    attributes: dict[str, str]
    texts: dict[str, str] = field(default_factory=dict)
    complete: bool = False


@dataclass(slots=True)
class Markup:
    """What could be read: the texts outside the records by path, and the records."""

    root: str
    texts: dict[str, str]
    records: list[Element]
    error: str = ""
    """Why reading stopped early, with line and column; empty where the file is whole."""


def read_markup(data: bytes, record: str, skip: frozenset[str]) -> Markup:
    """Read XML whose interesting part is a list of `record` elements below the root.

    Elements named in `skip` are left out with all that is in them. A leaf's path is given from its record on, such as
    `pci/link/width`; a leaf of a repeated element carries the element's number: `processes/process_info#2/pid`.
    Raises MarkupError for entity declarations and for what is too deep or too much.
    """
    reader = _Reader(record, skip)
    parser = expat.ParserCreate()
    parser.StartElementHandler = reader.start
    parser.EndElementHandler = reader.end
    parser.CharacterDataHandler = reader.text
    parser.EntityDeclHandler = _refuse
    parser.UseForeignDTD(False)
    parser.buffer_text = True
    try:
        parser.Parse(data, True)
    except expat.ExpatError as error:
        what = expat.errors.messages[error.code]
        reader.out.error = f"stops in line {error.lineno}, column {error.offset + 1}: {what}"
    except (LookupError, ValueError) as error:
        raise MarkupError(f"declares an encoding that cannot be read: {error}") from None
    return reader.out


def _refuse(*_: object) -> None:
    raise MarkupError("declares an entity; that is refused")


class _Reader:
    """Handlers of one parse; their state is the path from the root to where the parser stands."""

    def __init__(self, record: str, skip: frozenset[str]) -> None:
        self.out = Markup("", {}, [])
        self.record = record
        self.skip = skip
        self.path: list[str] = []
        self.counts: list[dict[str, int]] = [{}]
        self.parts: list[str] = []
        self.leaf = False
        self.skipping = 0
        self.values = 0
        self.current: Element | None = None

    def start(self, name: str, attributes: dict[str, str]) -> None:
        if len(self.path) >= MAX_DEPTH:
            raise MarkupError(f"is nested more than {MAX_DEPTH} deep")
        count = self.counts[-1].get(name, 0) + 1
        self.counts[-1][name] = count
        self.path.append(name if count == 1 else f"{name}#{count}")
        self.counts.append({})
        if self.skipping or name in self.skip:
            self.skipping += 1
            return
        if len(self.path) == 1:
            self.out.root = name
        elif len(self.path) == 2 and name == self.record:
            self.current = Element(name, attributes)
            self.out.records.append(self.current)
        self.parts = []
        self.leaf = True

    def text(self, data: str) -> None:
        if not self.skipping:
            self.parts.append(data)

    def end(self, _: str) -> None:
        if self.skipping:
            self.skipping -= 1
        else:
            self._value()
        self.counts.pop()
        self.path.pop()
        if len(self.path) == 1 and not self.skipping and self.current is not None:
            self.current.complete = True
            self.current = None

    def _value(self) -> None:
        if not self.leaf:
            return
        self.leaf = False
        self.values += 1
        if self.values > MAX_VALUES:
            raise MarkupError(f"holds more than {MAX_VALUES} values")
        text = "".join(self.parts).strip()
        if self.current is not None and len(self.path) > 2:
            self.current.texts["/".join(self.path[2:])] = text
        elif self.current is None and len(self.path) == 2:
            self.out.texts.setdefault(self.path[1], text)
