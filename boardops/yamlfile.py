"""Values of a YAML file with their places, and the errors that name them.

Every module that reads rules or a catalog uses these; how a text becomes values is yamltext.py's business.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from msgspec import Struct

from boardops.errors import BoardopsError

MAX_MESSAGE = 1000


class YamlError(BoardopsError):
    """A file that is not what it should be: `file`, `line` (from 1) and one sentence."""

    def __init__(self, file: str, line: int, message: str) -> None:
        super().__init__(f"{file}:{line}: {message}")
        self.file = file
        self.line = line
        self.message = message


class Item(Struct, frozen=True):
    """One value of a YAML file with its place."""

    file: str
    line: int
    value: Any
    """A dict of Items, a list of Items, or a str, int, float, bool or None."""
    raw: str = ""
    """The text of a scalar as it stands in the file."""

    def error(self, message: str) -> YamlError:
        """An error at this place, to be raised."""
        cut = message if len(message) <= MAX_MESSAGE else f"{message[:MAX_MESSAGE]}..."
        return YamlError(self.file, self.line, cut)

    def map(self, what: str, known: Iterable[str] | None = None, required: Iterable[str] = ()) -> dict[str, Item]:
        """This value as a map whose keys are all `known`, with all that are `required`."""
        if not isinstance(self.value, dict):
            raise self.error(f"{what} must be a map of keys and values")
        if known is not None:
            names = list(known)
            for key, item in self.value.items():
                if key not in names:
                    raise item.error(f"{what} has the unknown key {short(key)}{nearest(key, names)}")
        for key in required:
            if key not in self.value:
                raise self.error(f"{what} lacks the key {key!r}")
        return self.value

    def list(self, what: str) -> list[Item]:
        """This value as a list."""
        if not isinstance(self.value, list):
            raise self.error(f"{what} must be a list")
        return self.value

    def text(self, what: str) -> str:
        """This value as text; a number that stands there counts as the text it is written as."""
        if isinstance(self.value, (dict, list)) or self.value is None:
            raise self.error(f"{what} must be text")
        return self.raw

    def number(self, what: str) -> float | int:
        """This value as a number."""
        if isinstance(self.value, bool) or not isinstance(self.value, (int, float)):
            raise self.error(f"{what} must be a number, not {self.shown()}")
        return self.value

    def flag(self, what: str) -> bool:
        """This value as true or false."""
        if not isinstance(self.value, bool):
            raise self.error(f"{what} must be true or false, not {self.shown()}")
        return self.value

    def one_of(self, what: str, words: Iterable[str]) -> str:
        """This value as one of `words`."""
        names = list(words)
        text = self.text(what)
        if text not in names:
            raise self.error(f"{what} must be one of {', '.join(names)}, not {short(text)}{nearest(text, names)}")
        return text

    def shown(self) -> str:
        """What stands here, short enough for a sentence."""
        if isinstance(self.value, dict):
            return "a map"
        if isinstance(self.value, list):
            return "a list"
        return short(self.raw)


def short(text: str) -> str:
    """A text in quotes, cut where it is too long for a sentence."""
    return repr(text if len(text) <= 60 else text[:57] + "...")


def nearest(word: str, known: Iterable[str]) -> str:
    """`; did you mean 'x'?` where one of the known words is near, else an empty text."""
    from difflib import get_close_matches

    near = get_close_matches(word, list(known), 1, 0.6)
    return f"; did you mean {near[0]!r}?" if near else ""
