"""Compare vendor versions, which are not PEP 440: `580.65.06`, `12.10`, `24.1.rc1.b030`, `25.5.1`.

A version is split at dots, dashes and borders between digits and letters. Numbers compare as numbers and letters as
letters; a release candidate (`rc`, `alpha`, `beta`, `b`) is older than the same version without it.
"""

from __future__ import annotations

import re
from collections.abc import Callable

_PART = r"\d+|[A-Za-z]+"
_BEFORE_RELEASE = {"a": -4, "alpha": -4, "b": -3, "beta": -3, "rc": -2, "pre": -2, "dev": -5}
_SPEC = r"^\s*(>=|<=|==|!=|>|<)\s*(\S+)\s*$"

Key = tuple[tuple[int, int, str], ...]


def looks_like_version(text: str) -> bool:
    """Whether `text` starts with a number, as all versions that can be compared do.

    >>> looks_like_version("580.65.06"), looks_like_version("N/A")
    (True, False)
    """
    return bool(re.match(r"^[vV]?\d", text.strip()))


def version_key(text: str) -> Key:
    """A key that sorts versions.

    >>> version_key("12.10") > version_key("12.9")
    True
    >>> version_key("24.1.rc1") < version_key("24.1")
    True
    >>> version_key("25.0.rc1") < version_key("25.0") == version_key("25")
    True
    """
    text = text.strip()
    if text[:1] in "vV" and text[1:2].isdigit():
        text = text[1:]
    parts: list[tuple[int, int, str]] = []
    for part in re.findall(_PART, text.partition("+")[0]):
        if part.isdigit():
            parts.append((1, int(part[:18]), ""))
        else:
            rank = _BEFORE_RELEASE.get(part.lower())
            if rank is not None:
                _drop_zeros(parts)  # 25.0.rc1 is a candidate of 25, as 25.0 is 25.
            parts.append((-1, rank, part.lower()) if rank is not None else (2, 0, part.lower()))
    _drop_zeros(parts)
    # The end of a version sorts after a release candidate (-1) and before a further number (1).
    return (*parts, (0, 0, ""))


def _drop_zeros(parts: list[tuple[int, int, str]]) -> None:
    while parts and parts[-1] == (1, 0, ""):
        parts.pop()


_COMPARE: dict[str, Callable[[Key, Key], bool]] = {
    ">=": lambda a, b: a >= b,
    "<=": lambda a, b: a <= b,
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    ">": lambda a, b: a > b,
    "<": lambda a, b: a < b,
}


def parse_spec(spec: str) -> tuple[tuple[str, str], ...]:
    """`>=450.80.02,<600` as pairs of operator and version. Raises ValueError with what is wrong.

    >>> parse_spec(">=450.80.02, <600")
    (('>=', '450.80.02'), ('<', '600'))
    """
    pairs = []
    for part in spec.split(","):
        match = re.match(_SPEC, part)
        if not match or not looks_like_version(match[2]):
            raise ValueError(f"{part.strip()[:60]!r} is not an operator (>= <= == != > <) and a version")
        pairs.append((match[1], match[2]))
    return tuple(pairs)


def satisfies(version: str, spec: str) -> bool:
    """Whether `version` meets all parts of `spec`.

    >>> satisfies("535.104.05", ">=525.60.13,<580")
    True
    """
    key = version_key(version)
    return all(_COMPARE[operator](key, version_key(limit)) for operator, limit in parse_spec(spec))
