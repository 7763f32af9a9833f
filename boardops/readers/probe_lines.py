"""Read the JSON lines that a probe prints.

    {"probe": "host", "read_at": "2026-01-31T12:00:00Z"}     the first line: which probe, and when
    {"host": {"kernel": "6.8.0", "os": {"missing": "error", "why": "..."}}}
    {"board": {"vendor": "cpu", "index": 0, ...}}            what is told of one board in several lines is put together
    {"problem": "one sentence"}                              what the probe could not do
    {"end": "host"}                                          the last line: nothing is missing behind it

Names are dotted, without their first word. All is checked against facts.py: a value of the wrong type becomes
`Missing("unreadable")` with its raw text, and a line that is not one of these becomes a sentence. A driver's library
may print between the lines, even in front of one; a probe that was killed leaves half a line.

Readers of the probes call this. It does not know which probe gives which fact.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
from msgspec import Struct

from boardops.facts import Missing, Value, Values, build_board, build_host, known, value_of
from boardops.readers import odd_line
from boardops.readers.reading import Reading

MAX_BYTES = 64 * 2**20
MAX_LINE_BYTES = 2**20
MAX_LINES = 100_000
MAX_PROBLEMS = 20
MAX_QUICK_BYTES = 2**16
"""A longer line may hold a number that takes long to read."""
_SHAPES = ("probe", "host", "board", "problem", "end")


class Lines(Struct, frozen=True):
    """What the lines of one probe say."""

    probe: str | None
    read_at: str | None
    host: Values
    boards: tuple[Values, ...]
    problems: tuple[str, ...]
    ended: bool
    """The probe said that it was done, and all of it was read."""


def read_lines(data: bytes) -> Lines:
    """The lines of one probe.

    >>> lines = read_lines(b'{"probe": "host"}\\nnoise\\n{"host": {"kernel": "6.8", "uptime_seconds": "long"}}\\n{"ho')
    >>> lines.host["kernel"], lines.host["uptime_seconds"].kind, lines.ended
    ('6.8', 'unreadable', False)
    >>> lines.problems
    ("line 2 is not a probe's: 'noise'", 'line 4 is cut short: \\'{"ho\\'')
    """
    gathered = _Gathered()
    for number, line in enumerate(io.BytesIO(data[:MAX_BYTES]), 1):
        if number > MAX_LINES:
            gathered.cut(f"there are more than {MAX_LINES} lines; the rest was left out")
            break
        if line.strip():
            gathered.read(line.lstrip(), f"line {number}")
    if len(data) > MAX_BYTES:
        gathered.cut(f"the text is larger than {MAX_BYTES // 2**20} MiB; the rest was left out")
    return gathered.lines()


class _Gathered(Struct):
    """What was read so far."""

    probe: str | None = None
    read_at: str | None = None
    host: dict[str, Value] = {}
    boards: dict[tuple[Value | None, ...], dict[str, Value]] = {}
    problems: list[str] = []
    more_problems: int = 0
    ended: bool = False
    whole: bool = True

    def read(self, line: bytes, place: str) -> None:
        if len(line) > MAX_LINE_BYTES:
            self.whole = False
            self.problem(f"{place} is larger than {MAX_LINE_BYTES // 2**20} MiB and was left out")
            return
        # A library that prints without a line end leaves its words in front of ours.
        start = max(line.find(b'{"'), 0)
        try:
            found = _decode(line[start:])
        except ValueError as error:
            self.whole = self.whole and start == 0 and not line.startswith(b"{")
            self.problem(f"{place} {odd_line.complaint(line, error)}")
            return
        if start:
            self.problem(f"{place} has something before it that is not a probe's: {odd_line.quoted(line[:start])}")
        self.take(found, place)

    def take(self, found: Mapping[str, Any], place: str) -> None:
        shape = next((shape for shape in _SHAPES if shape in found), None)
        value = found.get(shape) if shape else None
        if shape in {"host", "board"} and isinstance(value, dict):
            self.facts(str(shape), value, place)
        elif shape == "probe" and isinstance(value, str):
            read_at = found.get("read_at")
            self.probe, self.read_at = value, read_at if isinstance(read_at, str) else None
        elif shape == "problem" and isinstance(value, str):
            self.problem(value)
        elif shape == "end" and isinstance(value, str):
            self.ended = True
        else:
            self.problem(f"{place} is not a probe's: {odd_line.quoted(odd_line.spelled(found).encode())}")

    def facts(self, subject: str, raw: Mapping[str, Any], place: str) -> None:
        declared = known()
        for name in raw:
            if f"{subject}.{name}" not in declared:
                self.problem(f"{place}: no fact is called {subject}.{name[: odd_line.MAX_SHOWN]}")
        values = _values(subject, {name: value for name, value in raw.items() if f"{subject}.{name}" in declared})
        into = self.host if subject == "host" else self.boards.setdefault(_identity(values), {})
        for name, value in values.items():
            # What was read once is not lost to a later attempt that failed.
            if name not in into or not isinstance(value, Missing):
                into[name] = value

    def problem(self, sentence: str) -> None:
        if len(self.problems) < MAX_PROBLEMS:
            self.problems.append(sentence)
        else:
            self.more_problems += 1

    def cut(self, sentence: str) -> None:
        self.whole = False
        self.problem(sentence)

    def lines(self) -> Lines:
        more = (f"{self.more_problems} more problems are not shown",) if self.more_problems else ()
        return Lines(
            self.probe,
            self.read_at,
            self.host,
            tuple(self.boards.values()),
            (*self.problems, *more),
            self.ended and self.whole,
        )


def _decode(line: bytes) -> Mapping[str, Any]:
    """The object in a line. Raises ValueError."""
    if len(line) <= MAX_QUICK_BYTES:
        try:
            found = msgspec.json.decode(line)
        except (msgspec.MsgspecError, ValueError, RecursionError):
            return odd_line.decode(line)
        if isinstance(found, dict) and _is_plain(found, odd_line.MAX_DEPTH):
            return found
    return odd_line.decode(line)


def _is_plain(value: Any, depth: int) -> bool:
    """Whether a value is neither too deep nor holds numbers that are too large."""
    if isinstance(value, dict):
        return depth > 0 and all(_is_plain(part, depth - 1) for part in value.values())
    if isinstance(value, list):
        return depth > 0 and all(_is_plain(part, depth - 1) for part in value)
    return not isinstance(value, int) or -(10**19) < value < 10**20


def _values(subject: str, raw: Mapping[str, Any]) -> Values:
    """The raw values as their facts have them, or as Missing with the raw text."""
    build = build_board if subject == "board" else build_host
    try:
        built = build(raw)
    except msgspec.ValidationError:
        if len(raw) > 1:
            return {name: _values(subject, {name: value})[name] for name, value in raw.items()}
        return {name: Missing("unreadable", odd_line.spelled(value)) for name, value in raw.items()}
    return {name: value_of(built, name) for name in raw}


def _identity(values: Values) -> tuple[Value | None, ...]:
    """What tells a board from the others of its probe."""
    for name in ("pci_address", "uuid"):
        if isinstance(values.get(name), str):
            return (values[name],)
    return tuple(str(values.get(name)) for name in ("vendor", "index"))


def reading_of(data: bytes, *, kind: str, title: str, probe: str) -> Reading:
    """The reading of one probe's output, for a reader that has nothing to add."""
    lines = read_lines(data)
    return Reading(kind, title, lines.host, lines.boards, tuple(problems_of(lines, probe)), lines.read_at, lines.ended)


def problems_of(lines: Lines, probe: str) -> Iterator[str]:
    """All that was wrong with the text of the probe `probe`."""
    if lines.probe is None:
        yield f"the first line, which names the probe {probe}, is missing"
    elif lines.probe != probe:
        yield f"the lines are those of the probe {lines.probe!r}, not of {probe}"
    yield from lines.problems
