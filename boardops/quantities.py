"""Values with units, read from text and shown to people.

`parse` reads `16 GiB` into 17179869184 bytes, `show` writes 17179869184 bytes as `16 GiB`. Both know only the base
units of facts.py.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable

_TEXT = r"^\s*([+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?)\s*([A-Za-z%°/]*)\s*$"

MAX_TEXT = 60
"""Characters that a number with its unit may have."""

FACTORS: dict[str, dict[str, float]] = {
    "bytes": {
        "B": 1,
        "kB": 10**3,
        "KB": 10**3,
        "MB": 10**6,
        "GB": 10**9,
        "TB": 10**12,
        "KiB": 2**10,
        "MiB": 2**20,
        "GiB": 2**30,
        "TiB": 2**40,
    },
    "hertz": {"Hz": 1, "kHz": 10**3, "MHz": 10**6, "GHz": 10**9},
    "seconds": {"us": 1e-6, "ms": 1e-3, "s": 1, "min": 60, "h": 3600, "d": 86400},
    "ratio": {"%": 0.01},
    "watts": {"mW": 1e-3, "W": 1, "kW": 1000},
    "celsius": {"C": 1, "°C": 1},
    "lanes": {"x": 1},
}


def parse(text: str, unit: str) -> float | int:
    """The number in `text` in base units of `unit`. Raises ValueError with what is wrong.

    >>> parse("16 GiB", "bytes"), parse("55 %", "ratio"), parse("12", "count")
    (17179869184, 0.55, 12)
    """
    match = re.match(_TEXT, text) if len(text) <= MAX_TEXT else None
    if not match:
        text = text if len(text) <= MAX_TEXT else text[:MAX_TEXT] + "..."
        raise ValueError(f"{text!r} is not a number with a unit of {unit}")
    number, word = match.groups()
    factor = FACTORS.get(unit, {}).get(word) if word else 1
    if factor is None:
        known = ", ".join(FACTORS.get(unit, {})) or "none"
        raise ValueError(f"{text!r} has no unit of {unit}; known: {known}")
    value = int(number) * int(factor) if _is_whole(number, factor) else float(number) * factor
    if unit == "ratio" and word == "%":
        value = float(number) / 100
    if not math.isfinite(value):
        raise ValueError(f"{text!r} is too large")
    return int(value) if float(value).is_integer() and unit in {"bytes", "lanes", "count", "generation"} else value


def _is_whole(number: str, factor: float) -> bool:
    """Whether the product is whole; as a float, a counter of 64 bits would not be exact."""
    return number.lstrip("+-").isdigit() and float(factor).is_integer()


def _round(value: float, digits: int = 1) -> str:
    text = f"{value:.{digits}f}"
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return "0" if text == "-0" else text


def _bytes(value: float) -> str:
    for word, factor in (("TiB", 2**40), ("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if abs(value) >= factor:
            return f"{_round(value / factor)} {word}"
    return f"{_round(value)} B"


def _hertz(value: float) -> str:
    return f"{_round(value / 1e6)} MHz" if abs(value) >= 1e6 else f"{_round(value)} Hz"


def _seconds(value: float) -> str:
    for word, factor in (("days", 86400), ("h", 3600), ("min", 60)):
        if abs(value) >= 2 * factor:
            return f"{_round(value / factor, 0 if word == 'days' else 1)} {word}"
    return f"{_round(value, 3)} s"


_SHOWN: dict[str, Callable[[float], str]] = {
    "bytes": _bytes,
    "hertz": _hertz,
    "seconds": _seconds,
    "ratio": lambda value: f"{_round(value * 100)} %",
    "watts": lambda value: f"{_round(value)} W",
    "celsius": lambda value: f"{_round(value)} °C",
    "lanes": lambda value: f"x{_round(value)}",
    "generation": lambda value: f"Gen{_round(value)}",
}


def show(value: object, unit: str = "") -> str:
    """`value` for people.

    >>> show(17179869184, "bytes"), show(0.55, "ratio"), show(True), show(("a", "b")), show(8, "lanes")
    ('16 GiB', '55 %', 'yes', 'a, b', 'x8')
    """
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, (int, float)):
        shown = _SHOWN.get(unit)
        return shown(float(value)) if shown else _round(value, 3)
    if isinstance(value, (tuple, list)):
        return ", ".join(show(item, unit) for item in value) or "none"
    return str(value)
