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
import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from boardops.facts import Missing, Value, Values, build_board, build_host, known, value_of
from boardops.readers.reading import Reading

MAX_BYTES = 64 * 2**20
MAX_LINE_BYTES = 2**20
MAX_LINES = 100_000
MAX_PROBLEMS = 20
MAX_DEPTH = 8
_MAX_RAW = 200
_SHAPES = ("probe", "host", "board", "problem", "end")


@dataclass(frozen=True, slots=True)
class Lines:
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


@dataclass(slots=True)
class _Gathered:
    """What was read so far."""

    probe: str | None = None
    read_at: str | None = None
    host: dict[str, Value] = field(default_factory=dict)
    boards: dict[tuple[Value | None, ...], dict[str, Value]] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
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
            self.problem(f"{place} {_complaint(line, error)}")
            return
        if start:
            self.problem(f"{place} has something before it that is not a probe's: {_raw(line[:start])}")
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
            self.problem(f"{place} is not a probe's: {_raw(json.dumps(found).encode())}")

    def facts(self, subject: str, raw: Mapping[str, Any], place: str) -> None:
        values: dict[str, Value] = {}
        for name, value in raw.items():
            if f"{subject}.{name}" in known():
                values[name] = _value(subject, name, value)
            else:
                self.problem(f"{place}: no fact is called {subject}.{name[:_MAX_RAW]}")
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
    try:
        found = json.loads(line.decode("utf-8", "replace"), parse_int=_int, parse_float=_float, parse_constant=str)
        plain = _plain(found, MAX_DEPTH)
    except RecursionError:
        raise ValueError("is nested too deeply") from None
    if not isinstance(plain, dict):
        raise ValueError("is not an object")
    return plain


def _int(text: str) -> int | str:
    # Old Pythons need seconds for a number of a million digits.
    return int(text) if len(text) <= 20 else text


def _float(text: str) -> float | str:
    number = float(text)
    return number if math.isfinite(number) else text


def _plain(value: Any, depth: int) -> Any:
    """The value with texts that every later station can write. Raises ValueError where it is too deep."""
    if isinstance(value, str):
        # JSON can spell half a surrogate pair, which no file can hold.
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, dict | list) and depth == 0:
        raise ValueError("is nested too deeply")
    if isinstance(value, dict):
        return {_plain(key, depth): _plain(part, depth - 1) for key, part in value.items()}
    if isinstance(value, list):
        return [_plain(part, depth - 1) for part in value]
    return value


def _complaint(line: bytes, error: ValueError) -> str:
    if not line.startswith(b"{"):
        return f"is not a probe's: {_raw(line)}"
    if not isinstance(error, json.JSONDecodeError):
        return f"{error}: {_raw(line)}"
    if not line.endswith(b"\n"):
        return f"is cut short: {_raw(line)}"
    return f"is not JSON: {_raw(line)}"


def _raw(text: bytes) -> str:
    words = text.decode("utf-8", "replace").strip()
    return repr(words if len(words) <= _MAX_RAW else words[: _MAX_RAW - 3] + "...")


def _value(subject: str, name: str, raw: Any) -> Value:
    """The raw value as its fact has it, or as Missing with the raw text."""
    try:
        built = build_board({name: raw}) if subject == "board" else build_host({name: raw})
    except msgspec.ValidationError:
        shown = json.dumps(raw, ensure_ascii=False)
        return Missing("unreadable", shown if len(shown) <= _MAX_RAW else shown[: _MAX_RAW - 3] + "...")
    return value_of(built, name)


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
    if not lines.ended:
        yield f"the last line of the probe {probe} is missing; it was stopped or the text is cut short"
