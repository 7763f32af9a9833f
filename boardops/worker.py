"""Runs programs that may never come back, and comes back itself.

Whatever touches a driver is started here: in a session of its own, with nothing to read, with its output in a file and
never in a pipe, so that no grandchild can hold us. After the deadline its process group is killed; what SIGKILL does
not end is let go, with the kernel's word on where it hangs. Every wait is bounded: `subprocess.run(timeout=)`,
`timeout -s KILL` and executor pools all wait for such a child for ever.

Called by collect.py. It does not know what the programs are or what they print, and it asks nothing again.
Not bounded is the start itself: a program that lies on a dead network file system blocks `exec`.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from boardops.outcome import MAX_OUTPUT_BYTES, Kind, Outcome, Program, kind_of, not_started, why_of
from boardops.threads import Thread, threads_of

Kill = Callable[[int, int], None]
"""Sends a signal to a process group, as `os.killpg`; a test passes one that sends nothing."""

_MAX_ERROR_BYTES = 64 * 2**10
GRACE_SECONDS = 2.0
"""How long a killed program may take to be gone."""
_LONGEST_PAUSE = 0.02


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
    outcomes: dict[int, Outcome] = {}
    children: dict[int, _Child] = {}
    try:
        for number, program in enumerate(programs):
            started = _start(program, kill, grace_seconds)
            if isinstance(started, Outcome):
                outcomes[number] = started
            else:
                children[number] = started
        pause = 0.001
        while children:
            for number, child in list(children.items()):
                outcome = child.look(time.monotonic())
                if outcome is not None:
                    outcomes[number] = outcome
                    del children[number]
            if children:
                time.sleep(pause)
                pause = min(pause * 1.5, _LONGEST_PAUSE)
    finally:
        _abandon(list(children.values()))
    return tuple(outcomes[number] for number in range(len(programs)))


def python_program(path: Path, executable: str | None = None) -> list[str]:
    """The argv that runs one of our own Python files, which needs the standard library only.

    `-I` keeps the working folder and the variables of Python off the module path, and `-S` site-packages, which halves
    the time of a start. `executable` stands in for `sys.executable`, which may be empty.
    """
    words = ["-I", "-S", *(["-B"] if sys.dont_write_bytecode else []), str(path)]
    own = sys.executable if executable is None else executable
    if own and os.access(own, os.X_OK):
        return [own, *words]
    same = f"python{sys.version_info.major}.{sys.version_info.minor}"
    folders = (Path(sys.prefix, "bin"), Path("/usr/bin"), Path("/usr/local/bin"))
    for name in (same, "python3"):
        for folder in folders:
            if os.access(folder / name, os.X_OK):
                return [str(folder / name), *words]
    return [shutil.which("python3") or "python3", *words]


@dataclass(slots=True)
class _Child:
    """A program that was started and has no outcome yet."""

    program: Program
    process: subprocess.Popen[bytes]
    stdout: int
    stderr: int
    started: float
    kill: Kill
    grace_seconds: float
    killed: float | None = None
    """When it was killed."""
    killed_for: Literal["timed-out", "too-much-output"] = "timed-out"

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
        if now - self.killed >= self.grace_seconds:
            return self._let_go(now, threads)
        return None

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
        os.close(self.stdout)
        os.close(self.stderr)
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
    return _Child(program, process, stdout, stderr, started, kill, grace_seconds)


def _nameless_file(files: contextlib.ExitStack) -> int:
    """A file that only its descriptor knows: in memory, since disks are full or read-only when machines break."""
    try:
        fd = os.memfd_create("boardops")
    except (AttributeError, OSError):
        with tempfile.TemporaryFile() as file:
            fd = os.dup(file.fileno())
    files.callback(os.close, fd)
    return fd


def _abandon(children: Sequence[_Child]) -> None:
    """Kill what still runs, wait briefly, let go."""
    now = time.monotonic()
    for child in children:
        child.stop(now, "timed-out")
    while time.monotonic() < now + GRACE_SECONDS and any(not child.gone() for child in children):
        time.sleep(0.005)
    for child in children:
        child.close()


__all__ = ["Outcome", "Program", "python_program", "run", "run_all"]
