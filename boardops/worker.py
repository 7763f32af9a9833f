"""Runs programs that may never come back, and comes back itself.

Whatever touches a driver is started here: in a session of its own, with nothing to read, with its output in a file and
never in a pipe, so that no grandchild can hold us. After the deadline its process group is killed; what SIGKILL does
not end is let go, with the kernel's word on where it hangs. Every wait is bounded: `subprocess.run(timeout=)`,
`timeout -s KILL` and executor pools all wait for such a child for ever.

Called by launch.py and collect.py. It does not know what the programs are or what they print, and it asks nothing
again. `start` and `Running.wait` are apart so that the caller can work while the programs do.
Not bounded is the start itself: a program that lies on a dead network file system blocks `exec`.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import TracebackType
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from boardops.outcome import MAX_OUTPUT_BYTES, Kind, Outcome, Program, kind_of, not_started, why_of
from boardops.threads import Thread, threads_of

Kill = Callable[[int, int], None]
"""Sends a signal to a process group, as `os.killpg`; a test passes one that sends nothing."""

_MAX_ERROR_BYTES = 64 * 2**10
GRACE_SECONDS = 2.0
"""How long a killed program may take to be gone."""
STUCK_SECONDS = 0.2
"""How long one may that waits in the kernel where no signal reaches it (state `D`), at two looks half of this apart."""
_SHORTEST_PAUSE, _LONGEST_PAUSE = 0.001, 0.02


def run(
    argv: Sequence[str],
    deadline_seconds: float,
    *,
    env: Mapping[str, str] | None = None,
    max_output_bytes: int = MAX_OUTPUT_BYTES,
    name: str = "",
    kill: Kill = os.killpg,
    grace_seconds: float = GRACE_SECONDS,
) -> Outcome:
    """Run one program to its end, its deadline or its limit of output."""
    return run_all(
        [Program(argv, deadline_seconds, env, max_output_bytes, name)], kill=kill, grace_seconds=grace_seconds
    )[0]


def run_all(
    programs: Sequence[Program], *, kill: Kill = os.killpg, grace_seconds: float = GRACE_SECONDS
) -> tuple[Outcome, ...]:
    """Run programs side by side; their outcomes in the same order.

    It takes as long as the longest of them, at most its deadline and the grace period. Where an exception such as
    KeyboardInterrupt ends the wait, all that still run are killed.
    """
    with Running(programs, kill=kill, grace_seconds=grace_seconds) as running:
        return running.wait()


class Running:
    """Programs that run side by side from `with` on. What still runs when the block is left is killed."""

    def __init__(
        self, programs: Sequence[Program], *, kill: Kill = os.killpg, grace_seconds: float = GRACE_SECONDS
    ) -> None:
        self._programs = programs
        self._kill = kill
        self._grace_seconds = grace_seconds
        self._outcomes: dict[int, Outcome] = {}
        self._children: dict[int, _Child] = {}
        self.started = time.monotonic()
        """When the first program was started, in monotonic seconds."""

    def __enter__(self) -> Running:
        self.started = time.monotonic()
        try:
            with _interrupted_later():
                for number, program in enumerate(self._programs):
                    started = _start(program, self._kill, self._grace_seconds)
                    if isinstance(started, Outcome):
                        self._outcomes[number] = started
                    else:
                        self._children[number] = started
        except BaseException:
            self._abandon()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self._abandon()

    def extend(self, seconds: float) -> None:
        """Give all programs that still run some more time."""
        for child in self._children.values():
            longer = child.program.deadline_seconds + seconds
            child.program = replace(child.program, deadline_seconds=longer)

    def wait(self, on_end: Callable[[int, Outcome], None] | None = None) -> tuple[Outcome, ...]:
        """The outcomes of all programs, in their order. Every program is bounded by its deadline since its start.

        `on_end` is called with the number and the outcome of each program that ends.
        """
        # Where the kernel wakes us at each end, there is no need to look often.
        wakes = all(child.pidfd is not None for child in self._children.values())
        pause = _LONGEST_PAUSE if wakes else _SHORTEST_PAUSE
        while self._children:
            for number, child in list(self._children.items()):
                outcome = child.look(time.monotonic())
                if outcome is not None:
                    self._outcomes[number] = outcome
                    del self._children[number]
                    if on_end is not None:
                        on_end(number, outcome)
            if self._children:
                _pause(self._children.values(), pause)
                pause = min(pause * 1.5, _LONGEST_PAUSE)
        return tuple(self._outcomes[number] for number in range(len(self._programs)))

    def _abandon(self) -> None:
        """Kill what still runs, wait briefly, let go."""
        now = time.monotonic()
        children = list(self._children.values())
        self._children.clear()
        for child in children:
            child.stop(now, "timed-out")
        while time.monotonic() < now + GRACE_SECONDS and any(not child.gone() for child in children):
            time.sleep(0.005)
        for child in children:
            child.close()


@contextlib.contextmanager
def _interrupted_later() -> Iterator[None]:
    """Ctrl-C comes after the block. In the midst of it, a program that was just started would be forgotten."""
    came: list[int] = []
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    if threading.current_thread() is not threading.main_thread():
        handlers.clear()  # Only the main thread is interrupted, and only it may say how.
    for number, handler in handlers.items():
        if callable(handler):
            signal.signal(number, lambda number, _: came.append(number))
    try:
        yield
    finally:
        for number, handler in handlers.items():
            if callable(handler):
                signal.signal(number, handler)
    for one in came:
        signal.raise_signal(one)


def _pause(children: Iterable[_Child], seconds: float) -> None:
    """Wait until one of the programs ends, at most so long. What was killed is only looked at now and then."""
    ends = select.poll()
    for child in children:
        if child.pidfd is not None and child.killed is None:
            ends.register(child.pidfd, select.POLLIN)
    ends.poll(seconds * 1000)


def python_program(path: str | os.PathLike[str], executable: str | None = None) -> list[str]:
    """The argv that runs one of our own Python files, which needs the standard library only.

    `-I` keeps the working folder and the variables of Python off the module path, and `-S` site-packages, which halves
    the time of a start. `executable` stands in for `sys.executable`, which may be empty.
    """
    words = ["-I", "-S", *(["-B"] if sys.dont_write_bytecode else []), str(path)]
    own = sys.executable if executable is None else executable
    if own and os.access(own, os.X_OK):
        return [own, *words]
    for name in (f"python{sys.version_info.major}.{sys.version_info.minor}", "python3"):
        for folder in (f"{sys.prefix}/bin", "/usr/bin", "/usr/local/bin"):
            if os.access(f"{folder}/{name}", os.X_OK):
                return [f"{folder}/{name}", *words]
    import shutil

    return [shutil.which("python3") or "python3", *words]


class _Child(Struct, eq=False):
    """A program that was started and has no outcome yet."""

    program: Program
    process: subprocess.Popen[bytes]
    stdout: int
    stderr: int
    pidfd: int | None
    """Readable once the program has ended; None where the kernel has no such thing."""
    started: float
    kill: Kill
    grace_seconds: float
    killed: float | None = None
    """When it was killed."""
    killed_for: Literal["timed-out", "too-much-output"] = "timed-out"
    stuck: float | None = None
    """How long after it was killed it was first found in state `D`, where every look since found it there."""

    def look(self, now: float) -> Outcome | None:
        """The outcome, if it has one now. Kills it where it is over its deadline or its limit."""
        if self.killed is None:
            if self._ended():
                return self._finish(now)
            if self._is_too_much():
                self.stop(now, "too-much-output")
            elif now - self.started >= self.program.deadline_seconds:
                self.stop(now, "timed-out")
            return None
        threads = threads_of(self.process.pid)
        if not threads and self._ended():
            return self._finish(now, self.killed_for)
        if now - self.killed >= self.grace_seconds or self._is_stuck(now - self.killed, threads):
            return self._let_go(now, threads)
        return None

    def _is_stuck(self, since_kill: float, threads: Sequence[Thread]) -> bool:
        if not threads or threads[0].state != "D":
            self.stuck = None
            return False
        if self.stuck is None:
            self.stuck = since_kill
        return since_kill >= STUCK_SECONDS and since_kill - self.stuck >= STUCK_SECONDS / 2

    def stop(self, now: float, why: Literal["timed-out", "too-much-output"]) -> None:
        """Kill the whole group."""
        self.killed, self.killed_for = now, why
        # Not permitted: a member runs as somebody else. It is let go like one that does not die.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            self.kill(self.process.pid, signal.SIGKILL)

    def gone(self) -> bool:
        """Whether the program itself has ended; it is reaped then."""
        return self.process.poll() is not None

    def close(self) -> None:
        """Give up the output files, and keep Popen from warning of a child that was let go."""
        for handle in (self.stdout, self.stderr, self.pidfd):
            if handle is not None:
                os.close(handle)
        if not self.gone():
            self.process.returncode = -signal.SIGKILL

    def _ended(self) -> bool:
        try:
            # WNOWAIT leaves the zombie in place, so that the number of its group cannot be somebody else's yet.
            flags = os.WEXITED | os.WNOHANG | os.WNOWAIT
            return os.waitid(os.P_PID, self.process.pid, flags) is not None
        except ChildProcessError:
            return True

    def _is_too_much(self) -> bool:
        return max(os.fstat(fd).st_size for fd in (self.stdout, self.stderr)) > self.program.max_output_bytes

    def _finish(self, now: float, kind: Literal["timed-out", "too-much-output"] | None = None) -> Outcome:
        code = self._reap()
        ended: Kind = kind or kind_of(code)
        if ended == "ok" and self._is_too_much():
            ended = "too-much-output"
        why = why_of(self.program, ended, code, self._stderr())
        return self._outcome(ended, now, why, returncode=code)

    def _reap(self) -> int | None:
        """The exit code; None where somebody else took it, since SIGCHLD is ignored. What it left behind is killed."""
        try:
            os.waitid(os.P_PID, self.process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        except ChildProcessError:
            self.process.poll()  # Popen would say 0 here, which is a guess.
            return None
        with contextlib.suppress(ProcessLookupError, PermissionError):
            self.kill(self.process.pid, signal.SIGKILL)
        return self.process.poll()

    def _let_go(self, now: float, threads: Sequence[Thread]) -> Outcome:
        thread = threads[0] if threads else None
        state = thread.state if thread else None
        channel = thread.wait_channel() if thread else None
        where = f" in state {state}" if state else ""
        where += f", in {channel}" if channel else ""
        cause = "nothing wakes it, as a rule only a reboot does" if state == "D" else "it was let go"
        reason = why_of(self.program, self.killed_for, None, b"")
        why = f"{reason}, but the kernel still keeps it{where}: {cause}"
        return self._outcome("hung", now, why, state=state, wait_channel=channel)

    def _outcome(
        self,
        kind: Kind,
        now: float,
        why: str,
        *,
        returncode: int | None = None,
        state: str | None = None,
        wait_channel: str | None = None,
    ) -> Outcome:
        outcome = Outcome(
            kind,
            os.pread(self.stdout, self.program.max_output_bytes, 0),
            self._stderr(),
            returncode,
            -returncode if returncode is not None and returncode < 0 else None,
            now - self.started,
            self.process.pid,
            state,
            wait_channel,
            why,
        )
        self.close()
        return outcome

    def _stderr(self) -> bytes:
        size = os.fstat(self.stderr).st_size
        return os.pread(self.stderr, _MAX_ERROR_BYTES, max(0, size - _MAX_ERROR_BYTES))


def _start(program: Program, kill: Kill, grace_seconds: float) -> _Child | Outcome:
    started = time.monotonic()
    with contextlib.ExitStack() as files:
        try:
            stdout, stderr = _nameless_file(files), _nameless_file(files)
        except OSError as error:
            return Outcome("failed", why=f"{program.title} has no place for its output: {error.strerror or error}")
        try:
            process = subprocess.Popen(
                program.argv,
                stdin=subprocess.DEVNULL,
                stdout=stdout,
                stderr=stderr,
                cwd="/",
                env=program.env,
                start_new_session=True,
            )
        except OSError as error:
            return not_started(program, error)
        files.pop_all()
    return _Child(program, process, stdout, stderr, _pidfd(process.pid), started, kill, grace_seconds)


def _pidfd(pid: int) -> int | None:
    try:
        return os.pidfd_open(pid)
    except (AttributeError, OSError):
        return None


def _nameless_file(files: contextlib.ExitStack) -> int:
    """A file that only its descriptor knows: in memory, since disks are full or read-only when machines break."""
    try:
        fd = os.memfd_create("boardops")
    except (AttributeError, OSError):
        import tempfile

        with tempfile.TemporaryFile() as file:
            fd = os.dup(file.fileno())
    files.callback(os.close, fd)
    return fd


__all__ = ["Outcome", "Program", "Running", "python_program", "run", "run_all"]
