"""Say how a stand-in library behaves: the lines that `behaviour.h` reads, and the calls that it noted.

The builders of the single libraries extend it. It does not know what a library answers.
"""

from __future__ import annotations

import os
import signal
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar, TypeVar

Self = TypeVar("Self", bound="Behaviour")

EVERY_BOARD = "*"
NO_BOARD = "-"


@dataclass(frozen=True)
class Refused:
    """A value that is answered with the code of an error."""

    code: int

    def __str__(self) -> str:
        return f"error {self.code}"


Value = int | str | Refused
"""What a stand-in answers for one key."""


@dataclass(frozen=True)
class Call:
    """One call of the library: in which process and thread, when (monotonic seconds), and for which board, if any."""

    process: int
    thread: int
    seconds: float
    board: int | None
    function: str


@dataclass(frozen=True)
class Behaviour:
    """A library whose files lie in `folder`. Each method gives a changed copy; a later change beats an earlier one.

    `function` is a pattern as in a shell. Without `board`, a change counts for every board and for calls without one.
    """

    name: ClassVar[str]
    """The environment variable that names the file of the library's behaviour."""

    folder: Path
    lines: tuple[str, ...] = ()

    def error(self: Self, function: str, code: int, board: int | None = None) -> Self:
        """Calls of `function` end with an error."""
        return self._rule("error", function, str(int(code)), board)

    def delay(self: Self, function: str, seconds: float, board: int | None = None) -> Self:
        """Calls of `function` take some time more."""
        return self._rule("delay", function, f"{seconds:.6f}", board)

    def hang(self: Self, function: str, board: int | None = None) -> Self:
        """Calls of `function` never end."""
        return self._rule("hang", function, "0", board)

    def crash(self: Self, function: str, board: int | None = None, by: signal.Signals = signal.SIGSEGV) -> Self:
        """Calls of `function` end the process by a signal."""
        return self._rule("crash", function, str(by.value), board)

    def lock(self: Self) -> Self:
        """One lock for all calls: a call that hangs holds up every other call."""
        return self.with_lines("lock")

    def with_lines(self: Self, *lines: str) -> Self:
        """The same with further lines."""
        assert all("\n" not in line for line in lines), "one line each"
        return replace(self, lines=(*self.lines, *lines))

    def _rule(self: Self, word: str, function: str, amount: str, board: int | None) -> Self:
        boards = (EVERY_BOARD, NO_BOARD) if board is None else (str(board),)
        return self.with_lines(*(f"{word} {each} {function} {amount}" for each in boards))

    def trace(self) -> list[Call]:
        """The calls so far, in order, also those of processes that were killed."""
        path = self._file("calls")
        return [_call(line) for line in path.read_text().splitlines()] if path.exists() else []

    def calls(self) -> dict[str, int]:
        """How often each function was called so far."""
        return dict(Counter(call.function for call in self.trace()))

    def calls_of(self, board: int) -> dict[str, int]:
        """How often each function was called for one board so far."""
        return dict(Counter(call.function for call in self.trace() if call.board == board))

    def _written(self, library: Path, lines: Iterable[str], base: Mapping[str, str]) -> dict[str, str]:
        """Write the behaviour; what a process needs to find it and the library, before the other folders of `base`."""
        self.folder.mkdir(parents=True, exist_ok=True)
        self._file("lines").write_text("".join(f"{line}\n" for line in (*lines, *self.lines)))
        folders = os.pathsep.join(filter(None, [str(library), base.get("LD_LIBRARY_PATH", "")]))
        return {
            "LD_LIBRARY_PATH": folders,
            self.name: str(self._file("lines")),
            f"{self.name}_CALLS": str(self._file("calls")),
        }

    def _file(self, ending: str) -> Path:
        return self.folder / f"{self.name.lower()}.{ending}"


def _call(line: str) -> Call:
    process, thread, seconds, board, function = line.split(" ")
    return Call(int(process), int(thread), float(seconds), None if board == "-1" else int(board), function)
