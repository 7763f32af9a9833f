"""Where reports go: standard output, and files that are written whole or not at all."""

from __future__ import annotations

import contextlib
import os
import stat
import sys

from boardops.errors import BoardopsError, OutputClosedError


def write_file(name: str, text: str) -> None:
    """Write a report whole: to a temporary file beside it, then renamed. Raises BoardopsError with one sentence."""
    data = text.encode("utf-8", "backslashreplace")
    try:
        if _is_special(name):
            _write_special(name, data)
            return
        _write_whole(name, data)
    except OSError as error:
        raise BoardopsError(f"cannot write {name}: {error.strerror or error}") from None


def _is_special(path: str) -> bool:
    """Whether the path is a device, a pipe or a link to one, which cannot be replaced by renaming."""
    try:
        return not os.path.isdir(path) and not stat.S_ISREG(os.stat(path).st_mode)
    except FileNotFoundError:
        return False


def _write_special(path: str, data: bytes) -> None:
    """Write to a device or a pipe. A named pipe that nobody reads is an error, not a wait without end."""
    handle = os.open(path, os.O_WRONLY | os.O_NONBLOCK)
    with os.fdopen(handle, "wb") as file:
        os.set_blocking(handle, True)
        file.write(data)


def _write_whole(path: str, data: bytes) -> None:
    import tempfile

    target = os.path.realpath(path) if os.path.islink(path) else path
    mode = stat.S_IMODE(os.stat(target).st_mode) if os.path.exists(target) else 0o666 & ~_umask()
    folder, name = os.path.split(target)
    handle, temporary = tempfile.mkstemp(prefix=f".{name[:100]}.", suffix=".tmp", dir=folder or ".")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, mode)
        os.replace(temporary, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def print_text(text: str) -> None:
    """Print to standard output whatever its encoding can show; the rest as escapes.

    Raises BoardopsError where it was closed or cannot be written.
    """
    if sys.stdout is None:
        raise BoardopsError("standard output is closed")
    encoding = sys.stdout.encoding or "utf-8"
    data = text.encode(encoding, "backslashreplace")
    try:
        sys.stdout.flush()
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        give_up_standard_output()
        raise OutputClosedError("standard output was closed") from None
    except OSError as error:
        give_up_standard_output()
        raise BoardopsError(f"cannot write standard output: {error.strerror or error}") from None


def give_up_standard_output() -> None:
    """What is still in its buffer goes nowhere, so that Python's own flush at the end does not fail again."""
    if sys.stdout is None:
        return
    devnull = os.open(os.devnull, os.O_WRONLY)
    os.dup2(devnull, sys.stdout.fileno())
    os.close(devnull)
