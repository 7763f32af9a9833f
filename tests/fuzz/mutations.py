"""Texts that are almost right: valid ones with bits turned, parts cut, doubled, swapped, and hostile pieces put in."""

from __future__ import annotations

import os

from hypothesis import strategies as st

EXAMPLES = int(os.environ.get("BOARDOPS_FUZZ_EXAMPLES", "150"))
"""How many texts each reader gets; more where somebody has time."""
HOSTILE = (
    b"\x00",
    b"\xff\xfe",
    b"\xed\xa0\x80",
    b"9" * 400,
    b"-1e999",
    b"[" * 2000,
    b"{" * 2000,
    b"<a>" * 300,
    b"<!ENTITY x 'y'>",
    b"&lt;",
    b"]]>",
    b"NaN",
    b"18446744073709551615",
    b"\r\n\r\n",
    b" : ",
    b",,,,",
    b"A" * 100_000,
)


def almost(valid: bytes) -> st.SearchStrategy[bytes]:
    """A valid text after some mistakes."""
    return st.lists(_mistakes(), min_size=1, max_size=4).map(lambda mistakes: _made(valid, mistakes))


def _mistakes() -> st.SearchStrategy[tuple[str, float, float, bytes]]:
    share = st.floats(0, 1)
    piece = st.one_of(st.sampled_from(HOSTILE), st.binary(max_size=12))
    return st.tuples(st.sampled_from(("cut", "flip", "double", "drop", "put", "swap")), share, share, piece)


def _made(text: bytes, mistakes: list[tuple[str, float, float, bytes]]) -> bytes:
    for kind, first, second, piece in mistakes:
        at, end = sorted((int(first * len(text)), int(second * len(text))))
        if kind == "cut":
            text = text[:end]
        elif kind == "flip" and text:
            at = min(at, len(text) - 1)
            text = text[:at] + bytes([text[at] ^ (1 + int(second * 254))]) + text[at + 1 :]
        elif kind == "double":
            text = text[:end] + text[at:end] + text[end:]
        elif kind == "drop":
            text = text[:at] + text[end:]
        elif kind == "put":
            text = text[:at] + piece + text[at:]
        elif kind == "swap":
            lines = text.split(b"\n")
            one, other = (int(share * (len(lines) - 1)) for share in (first, second))
            lines[one], lines[other] = lines[other], lines[one]
            text = b"\n".join(lines)
        text = text[: 2**21]
    return text
