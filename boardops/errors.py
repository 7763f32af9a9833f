"""The one exception for what a user can mend: wrong usage, bad files, a place that cannot be written."""

from __future__ import annotations


class BoardopsError(Exception):
    """One sentence for standard error; the command ends with exit code 3."""


class OutputClosedError(BoardopsError):
    """Whoever read our output stopped reading. There is nobody to tell."""
