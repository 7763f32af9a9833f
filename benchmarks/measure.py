"""Run a program and say what it cost; compare two programs by interleaved pairs.

CPU time is that of the very child with all that it waited for (`wait4`), so that nothing else on the machine counts.
"""

from __future__ import annotations

import os
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType

LONGEST_SECONDS = 120
"""A run that takes longer is given up."""

_NULL = subprocess.DEVNULL
# Memory that a program inherits from who starts it counts as its own, so a small Python stands between.
_PEAK = (
    "import os, resource, sys; null = os.open(os.devnull, os.O_RDWR); "
    "files = [(os.POSIX_SPAWN_DUP2, null, number) for number in (1, 2)]; "
    "_, status = os.waitpid(os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ, file_actions=files), 0); "
    "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss); "
    "sys.exit(os.waitstatus_to_exitcode(status))"
)


class NotMeasuredError(Exception):
    """Something could not be measured; the text says why."""


@dataclass(frozen=True)
class Command:
    """A program to run, and the exit code that shows that it did what is measured."""

    argv: Sequence[str]
    env: Mapping[str, str] = field(default_factory=dict)
    code: int = 0


@dataclass(frozen=True)
class Cost:
    """What one run took, in seconds."""

    cpu: float
    wall: float


@dataclass(frozen=True)
class Ratio:
    """Ratios of interleaved pairs, ours over theirs."""

    cpu: Sequence[float]
    wall: Sequence[float]


def cost(command: Command) -> Cost:
    """What one run takes. Raises NotMeasuredError where it ends otherwise than expected or not at all."""
    started = time.monotonic()
    try:
        process = subprocess.Popen(command.argv, env=command.env, stdin=_NULL, stdout=_NULL, stderr=_NULL)
    except OSError as error:
        raise NotMeasuredError(str(error)) from None
    with _given_up(process, command):
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.monotonic() - started
    process.returncode = os.waitstatus_to_exitcode(status)
    _check_code(command, process.returncode)
    return Cost(usage.ru_utime + usage.ru_stime, wall)


def output(command: Command) -> str:
    """What one run prints. Raises NotMeasuredError where it ends otherwise than expected or not at all."""
    try:
        done = subprocess.run(
            command.argv, env=command.env, capture_output=True, text=True, timeout=LONGEST_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NotMeasuredError(str(error)) from None
    _check_code(command, done.returncode, done.stderr)
    return done.stdout


def pairs(ours: Command, theirs: Command, count: int) -> Iterator[tuple[Cost, Cost]]:
    """Costs of interleaved runs after one of each that does not count; every other pair starts with theirs."""
    cost(ours)
    cost(theirs)
    for number in range(count):
        if number % 2:
            second, first = cost(theirs), cost(ours)
        else:
            first, second = cost(ours), cost(theirs)
        yield first, second


def compare(ours: Command, theirs: Command, count: int) -> Ratio:
    """Ratios of `count` interleaved pairs."""
    costs = list(pairs(ours, theirs, count))
    return Ratio([a.cpu / b.cpu for a, b in costs], [a.wall / b.wall for a, b in costs])


def compare_calls(ours: Callable[[], object], theirs: Callable[[], object], count: int) -> list[float]:
    """Ratios of the CPU time of two functions in this process, by interleaved pairs."""
    _seconds(ours)
    _seconds(theirs)
    return [_seconds(ours) / _seconds(theirs) for _ in range(count)]


def peak_bytes(command: Command) -> int:
    """Memory of the largest process of a run, taken over all its processes that were waited for."""
    done = output(Command([sys.executable, "-I", "-S", "-c", _PEAK, *command.argv], command.env, command.code))
    return int(done) * 1024


def middle(values: Sequence[float]) -> float:
    """The median."""
    return statistics.median(values)


def _seconds(call: Callable[[], object]) -> float:
    started = time.process_time()
    call()
    return time.process_time() - started


@contextmanager
def _given_up(process: subprocess.Popen[bytes], command: Command) -> Iterator[None]:
    """Kill a run that takes too long."""

    def give_up(_signal: int, _frame: FrameType | None) -> None:
        process.kill()
        raise NotMeasuredError(f"{_name(command)} had not ended after {LONGEST_SECONDS} s")

    before = signal.signal(signal.SIGALRM, give_up)
    signal.alarm(LONGEST_SECONDS)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def _check_code(command: Command, code: int, said: str = "") -> None:
    if code != command.code:
        last = said.strip().splitlines()[-1:]
        raise NotMeasuredError(": ".join([f"{_name(command)} ended with {code}, not with {command.code}", *last]))


def _name(command: Command) -> str:
    return os.path.basename(command.argv[0])  # noqa: PTH119 - a word, not a path
