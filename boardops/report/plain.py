"""Text that a machine printed, made harmless for people to look at."""

from __future__ import annotations

import unicodedata

_DANGEROUS = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
"""Unicode categories of control, format (with bidirectional overrides), surrogate, private and line-separating."""


def plain(text: str) -> str:
    r"""The text with everything invisible or commanding shown as an escape.

    >>> plain("a\x1b[31mb\u202ec\n")
    'a\\x1b[31mb\\u202ec\\n'
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(_shown(char) for char in text)


def _shown(char: str) -> str:
    if unicodedata.category(char) not in _DANGEROUS:
        return char
    return char.encode("unicode_escape").decode("ascii")
