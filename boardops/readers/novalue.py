"""Every spelling of "no value" that vendor tools print, in one place.

Readers call `missing_of` before they convert a text, and `is_sentinel` before they believe a number.
"""

from __future__ import annotations

from boardops.facts import Missing, MissingKind

# Spellings in lower case without brackets. Sources: nvidia-smi of drivers 346 to 610, nvml.h error strings,
# npu-smi and DCMI, public issue threads of tools that tripped over them.
_BARE = frozenset({"n/a", "na", "n.a.", "-", "--", "", "n/a n/a", "not available", "unavailable", "null", "nan"})
_KINDS: dict[str, tuple[MissingKind, str]] = {
    "not supported": ("not-supported", "the board does not support it"),
    "unsupported": ("not-supported", "the board does not support it"),
    "requested functionality has been deprecated": ("not-supported", "the driver no longer gives it"),
    "function not found": ("not-supported", "the driver does not know it"),
    "insufficient permissions": ("not-permitted", "the tool ran without the right to read it"),
    "insufficient permission": ("not-permitted", "the tool ran without the right to read it"),
    "no permission": ("not-permitted", "the tool ran without the right to read it"),
    "permission denied": ("not-permitted", "the tool ran without the right to read it"),
    "gpu is lost": ("lost", "the board no longer answers its driver"),
    "gpu lost": ("lost", "the board no longer answers its driver"),
    "unknown error": ("error", "the driver answered with an unknown error"),
    "err!": ("error", "the driver answered with an error"),
    "error": ("error", "the driver answered with an error"),
    "unknown": ("error", "the driver does not know it"),
    "gpu requires reset": ("error", "the board must be reset before it answers"),
    "reset required": ("error", "the board must be reset before it answers"),
    "timeout": ("timed-out", "the driver gave up waiting for the board"),
    "timed out": ("timed-out", "the driver gave up waiting for the board"),
}

SENTINELS = frozenset({-275, -8255, -8012, -99998, 0xFFFFFFFF, 0x7FFFFFFF, 0xFFFFFFFFFFFFFFFF})
"""Numbers that vendor libraries give for "not measured": DCMI's error codes, and the largest integers."""


def missing_of(text: str) -> Missing | None:
    """The Missing that a text stands for, or None where it is a value.

    >>> missing_of("[Not Supported]").kind, missing_of("GPU is lost").kind, missing_of("[n/a]").bare
    ('not-supported', 'lost', True)
    >>> missing_of("12 %") is None
    True
    """
    word = " ".join(text.split()).strip("[]<>() ").lower()
    if word in _BARE:
        return Missing("not-supported", f"printed as {text.strip()!r}" if text.strip() else "printed as nothing", True)
    if word in _KINDS:
        kind, why = _KINDS[word]
        return Missing(kind, why, kind == "not-supported")
    return None


def is_sentinel(number: float) -> bool:
    """Whether a number stands for "not measured"."""
    return number in SENTINELS
