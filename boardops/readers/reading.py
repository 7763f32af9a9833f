"""The value that every reader returns. Readers build it, locate.py and collect.py take it; it knows no format."""

from __future__ import annotations

from msgspec import Struct

from boardops.facts import Values


class Reading(Struct, frozen=True):
    """What a reader found in one text: facts by dotted name, and sentences on what it could not read."""

    kind: str
    """A short fixed name, such as `host-probe` or `nvidia-smi-xml`."""
    title: str
    """The name for people, such as `nvidia-smi XML`."""
    host: Values
    boards: tuple[Values, ...]
    problems: tuple[str, ...] = ()
    read_at: str | None = None
    """RFC 3339 in UTC, where the text gives it."""
    complete: bool = True
    """False: the text is cut short, and something is surely missing."""
