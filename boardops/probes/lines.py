"""What all probes share: JSON lines on standard output, small files, and values that are missing.

A line is written whole and at once, from any thread, so that nothing which happens later costs what was printed. Only
what is cheap to import is imported here and in the probes: they start with each run, and `json`, `re`, `pathlib` and
`typing` would cost more than all reading.
"""

from __future__ import annotations

import os
import time
from _thread import allocate_lock

try:
    from _json import encode_basestring_ascii as quote
except ImportError:  # Another Python than CPython.
    from json.encoder import py_encode_basestring_ascii as quote

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    Values = dict[str, Any]

MAX_FILE_BYTES = 2**20
_PRINTING = allocate_lock()


def begin(probe: str) -> None:
    """Print the first line of a probe: its name and the time."""
    say({"probe": probe, "read_at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())})


def end(probe: str) -> None:
    """Print the last line of a probe: nothing is missing behind it."""
    say({"end": probe})


def say(line: Mapping[str, Any]) -> None:
    """Print one line."""
    data = (dumps(line) + "\n").encode("ascii")
    with _PRINTING:
        while data:
            data = data[os.write(1, data) :]


def dumps(value: Any) -> str:
    """A value as JSON."""
    if isinstance(value, str):
        return quote(value)
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, int):
        return int.__repr__(value)
    if isinstance(value, float):
        # JSON has no word for what is no number; the reader says that it is unreadable.
        return float.__repr__(value) if value - value == 0 else quote(float.__repr__(value))
    if isinstance(value, dict):
        return "{" + ", ".join([f"{quote(str(key))}: {dumps(part)}" for key, part in value.items()]) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join([dumps(part) for part in value]) + "]"
    return quote(str(value))


def missing(kind: str, why: str, *, bare: bool = False) -> dict[str, Any]:
    """What stands in place of a value that could not be read.

    `bare` marks a driver's plain "no": where the catalog or a board of the same model has the value, it is an error.
    """
    return {"missing": kind, "why": why, **({"bare": True} if bare else {})}


def text(path: str) -> str:
    """The content of a small file. Raises OSError."""
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        # A file of /proc gives a page at a time.
        data = b""
        while len(data) < MAX_FILE_BYTES and (part := os.read(handle, 65536)):
            data += part
    finally:
        os.close(handle)
    return data.decode("utf-8", "replace").strip("\0 \t\n")


def names_in(folder: str) -> list[str]:
    """The names in a folder, sorted; none where it cannot be read."""
    try:
        return sorted(os.listdir(folder))
    except OSError:
        return []


def option(words: Sequence[str], name: str) -> str | None:
    """The word behind an option. Only collect.py starts probes, and argparse would cost a quarter of their time."""
    return words[words.index(name) + 1] if name in words[:-1] else None
