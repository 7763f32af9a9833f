"""What was read from a data file, kept beside Python's own bytecode, so that the next run need not read it again.

Called by the catalogs and by ruleset.py with the text of a file and with the function that reads it. A file here is to
a YAML text what a `.pyc` is to a module, and is trusted as one: it lies in the same folder, and whoever can write there
already decides which code runs. It holds for one text and for one state of all modules that may have read it; where it
is stale, foreign, broken or absent, the text is read. It is written whole or not at all, and what keeps us from writing
it is no error. It knows no format and no rule.
"""

from __future__ import annotations

import functools
import os
import sys
import time
import zlib
from collections.abc import Callable
from typing import Any, TypeVar

from msgspec import MsgspecError, Struct, msgpack

_READERS = ("", "catalog")
"""The folders of this package whose modules read."""
_SETTLED_SECONDS = 2.0
"""A module that changed later may have changed since it was imported."""

_Value = TypeVar("_Value")


class _Code(Struct, frozen=True):
    """The state of the modules that read."""

    mark: bytes
    changed_at: float


def kept(name: str, text: bytes, type_: Any, read: Callable[[], _Value]) -> _Value:
    """What `read` makes of `text`, a value of `type_`, from the last run where that still holds."""
    path = _path(name)
    code = _code()
    if path is None or code is None:
        return read()
    mark = b"%d %08x %s\n" % (len(text), zlib.crc32(text), code.mark)
    value = _load(path, mark, type_)
    if value is None:
        value = read()
        if not sys.dont_write_bytecode and code.changed_at < time.time() - _SETTLED_SECONDS:
            data = msgpack.encode(value)
            _store(path, mark + _sum(data) + data)
    return value  # type: ignore[no-any-return]


def _path(name: str) -> str | None:
    """Where a value is kept: in the folder of our own bytecode, which follows `sys.pycache_prefix`."""
    cached = __spec__.cached if __spec__ else None
    if not cached or not sys.implementation.cache_tag:
        return None
    return f"{os.path.dirname(cached)}/{name}.{sys.implementation.cache_tag}.kept"


@functools.cache
def _code() -> _Code | None:
    """Name, time and size of all modules that may have a part in reading; None where they cannot be seen."""
    here = os.path.dirname(__file__)
    states: list[str] = []
    changed_at = 0.0
    try:
        for folder in _READERS:
            with os.scandir(os.path.join(here, folder)) as entries:
                for entry in entries:
                    if entry.name.endswith(".py"):
                        state = entry.stat()
                        states.append(f"{folder}/{entry.name} {state.st_mtime_ns} {state.st_size}")
                        changed_at = max(changed_at, state.st_mtime)
    except OSError:
        return None
    return _Code(_sum("\n".join(sorted(states)).encode()), changed_at) if states else None


def _sum(data: bytes) -> bytes:
    return b"%08x" % zlib.crc32(data)


def _load(path: str, mark: bytes, type_: Any) -> Any:
    try:
        with open(path, "rb") as file:
            found = file.read()
    except OSError:
        return None
    data = found[len(mark) + 8 :]
    if found[: len(mark) + 8] != mark + _sum(data):
        return None
    try:
        return msgpack.decode(data, type=type_)
    except (MsgspecError, ValueError):
        return None


def _store(path: str, data: bytes) -> None:
    temporary = f"{path}.{os.getpid()}"
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
    except OSError:
        return
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        os.replace(temporary, path)
    except OSError:
        try:
            os.unlink(temporary)
        except OSError:
            return
