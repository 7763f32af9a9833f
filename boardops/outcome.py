"""A program to run, how it ended, and the sentence that tells people. worker.py makes these; collect.py reads them."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Mapping, Sequence
from typing import Literal

from msgspec import Struct

Kind = Literal[
    "ok",
    "failed",
    "crashed",
    "timed-out",
    "hung",
    "not-installed",
    "not-permitted",
    "too-much-output",
]

MAX_OUTPUT_BYTES = 16 * 2**20


class Program(Struct, frozen=True):
    """A program to run, and what it may cost."""

    argv: Sequence[str]
    deadline_seconds: float
    env: Mapping[str, str] | None = None
    """None: the environment of this process."""
    max_output_bytes: int = MAX_OUTPUT_BYTES
    name: str = ""
    """What people call it; the file name of the program where this is empty."""

    @property
    def title(self) -> str:
        return self.name or self.argv[0].rstrip("/").rpartition("/")[2] or "a program without a name"


class Outcome(Struct, frozen=True):
    """How a program ended, and what it printed."""

    kind: Kind
    """`hung` was let go and still runs; `timed-out` was killed at the deadline; `failed` has an exit code."""
    stdout: bytes = b""
    """At most `max_output_bytes`, from the beginning."""
    stderr: bytes = b""
    """The last 64 KiB."""
    returncode: int | None = None
    signal: int | None = None
    seconds: float = 0.0
    pid: int | None = None
    state: str | None = None
    """For `hung`: the kernel's state letter, such as `D`, at the moment of letting go."""
    wait_channel: str | None = None
    """For `hung`: the kernel function that it waits in, where the kernel tells."""
    why: str = ""
    """One sentence; empty for `ok`."""


def not_started(program: Program, error: OSError) -> Outcome:
    """The outcome of a program that could not be started."""
    path = program.argv[0]
    if isinstance(error, PermissionError) and (_is_anywhere(program) or "/" in path):
        return Outcome("not-permitted", why=f"{path} may not be run: {error.strerror}")
    if isinstance(error, FileNotFoundError | NotADirectoryError | PermissionError):
        if "/" in path and os.path.isfile(path):
            return Outcome("not-installed", why=f"the interpreter that {path} names does not exist")
        return Outcome("not-installed", why=f"there is no program {path!r}")
    return Outcome("failed", why=f"{path} could not be started: {error.strerror}")


def _is_anywhere(program: Program) -> bool:
    """Whether a folder of PATH holds it. One that we may not enter makes exec say `Permission denied` for any name."""
    import shutil

    path = (os.environ if program.env is None else program.env).get("PATH")
    return shutil.which(program.argv[0], os.F_OK, path) is not None


def kind_of(code: int | None) -> Kind:
    """How a program ended that nobody stopped. A code that was lost is no good sign."""
    if code is None or code > 0:
        return "failed"
    return "crashed" if code < 0 else "ok"


def why_of(program: Program, kind: Kind, code: int | None, stderr: bytes) -> str:
    """The sentence on how a program ended."""
    if kind == "ok":
        return ""
    if kind == "timed-out":
        return f"{program.title} did not end within {program.deadline_seconds:g} s and was killed"
    if kind == "too-much-output":
        return f"{program.title} printed more than {program.max_output_bytes} bytes and was cut off"
    if code is None:
        return f"{program.title} ended, but its exit code was lost since SIGCHLD is ignored"
    said = stderr.decode("utf-8", "replace").strip().splitlines()
    last = f"; its last words: {said[-1].strip()[:300]}" if said else ""
    if code < 0:
        with contextlib.suppress(ValueError):
            return f"{program.title} was ended by {signal.Signals(-code).name}{last}"
        return f"{program.title} was ended by signal {-code}{last}"
    return f"{program.title} ended with exit code {code}{last}"
