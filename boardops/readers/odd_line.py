"""A line of a probe that is not as it should be: read closely, and put in words.

Called by probe_lines.py. What is odd is rare, so the JSON of the standard library, which is lenient with numbers and
half characters, is imported only then.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

MAX_DEPTH = 8
MAX_SHOWN = 200
"""Characters of a raw text that are shown."""


def decode(line: bytes) -> Mapping[str, Any]:
    """The object in a line. Raises ValueError."""
    import json

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


def complaint(line: bytes, error: ValueError) -> str:
    """What is to be said of a line that `decode` did not take."""
    import json

    if not line.startswith(b"{"):
        return f"is not a probe's: {quoted(line)}"
    if not isinstance(error, json.JSONDecodeError):
        return f"{error}: {quoted(line)}"
    if not line.endswith(b"\n"):
        return f"is cut short: {quoted(line)}"
    return f"is not JSON: {quoted(line)}"


def quoted(text: bytes) -> str:
    """The beginning of a text in quotes."""
    return repr(_cut(text.decode("utf-8", "replace").strip()))


def spelled(value: Any) -> str:
    """The beginning of a value as JSON spells it."""
    import json

    return _cut(json.dumps(value, ensure_ascii=False))


def _cut(text: str) -> str:
    return text if len(text) <= MAX_SHOWN else text[: MAX_SHOWN - 3] + "..."
