"""Text in columns of a terminal: widths, wrapping, cutting."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator


def width_of(text: str) -> int:
    """Columns that a text takes; wide East Asian characters take two, combining ones none.

    >>> width_of("abc"), width_of("正常")
    (3, 4)
    """
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(char) else 2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text
    )


def pad(text: str, width: int) -> str:
    """The text with blanks up to a width."""
    return text + " " * max(0, width - width_of(text))


def cut(text: str, width: int, mark: str = "…") -> str:
    """The text in at most `width` columns, with a mark where it was cut.

    >>> cut("temperature", 6)
    'tempe…'
    """
    if width_of(text) <= width:
        return text
    kept = ""
    for char in text:
        if width_of(kept + char) + width_of(mark) > width:
            break
        kept += char
    return kept + mark if width >= width_of(mark) else mark[:width]


def wrap(text: str, width: int, first: str = "", rest: str = "") -> list[str]:
    """The text in lines of at most `width` columns; `first` begins the first line and `rest` the others.

    >>> wrap("one two three", 9, "- ", "  ")
    ['- one two', '  three']
    """
    lines: list[str] = []
    line, empty = first, True
    for word in _words(text, max(8, width - width_of(rest))):
        joined = line + ("" if empty else " ") + word
        if not empty and width_of(joined) > width:
            lines.append(line)
            line = rest + word
        else:
            line = joined
        empty = False
    return [*lines, line.rstrip() if empty else line]


def _words(text: str, width: int) -> Iterator[str]:
    """The words of a text; one that no line can hold is cut in pieces."""
    for word in text.split(" "):
        piece = ""
        for char in word:
            if width_of(piece + char) > width:
                yield piece
                piece = ""
            piece += char
        if piece:
            yield piece
