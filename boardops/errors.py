"""The one exception for what a user can mend: wrong usage, bad files, a place that cannot be written."""

from __future__ import annotations


class BoardopsError(Exception):
    """One sentence for standard error; the command ends with exit code 3."""
