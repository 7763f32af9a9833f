"""How long the sources of a run may take: from the deadline of the whole run and the number of boards.

A driver without persistence mode starts each board anew, one after the other, so more boards need more time. What is
left after the first sources serves those that are asked because of them: the one that stands in, each board alone after
a crash, and the list of processes that hang. Called by the command line, launch.py and collect.py.
"""

from __future__ import annotations

from msgspec import Struct

DEFAULT_SECONDS = 10.0
"""Deadline of a run where nobody chose one. Eight boards of a driver that takes a second for each still answer."""
DEFAULT_BOARDS = 8
SECONDS_PER_BOARD = 1.25
"""What each further board adds to the default: its start, and a quarter of a second for its answers."""
LEAST_SECONDS = 0.5
"""What a source that is asked late gets in any case."""


class Budget(Struct, frozen=True):
    """The time of one run."""

    chosen_seconds: float | None = None
    """The deadline that the user chose."""

    @property
    def total_seconds(self) -> float:
        """The deadline of the whole run, before the number of boards is known."""
        return DEFAULT_SECONDS if self.chosen_seconds is None else self.chosen_seconds

    @property
    def first_seconds(self) -> float:
        """What the sources that are started first may take: nine tenths, and all but a second of a long deadline."""
        return self.total_seconds - min(1.0, self.total_seconds / 10)

    @property
    def patience_seconds(self) -> float:
        """When a source tells what it waits for."""
        return round(0.8 * self.first_seconds, 3)

    def more_for(self, boards: int) -> float:
        """What the number of boards adds to the whole. Nothing to a deadline that was chosen.

        >>> Budget().more_for(8), Budget().more_for(16), Budget(10.0).more_for(16)
        (0.0, 10.0, 0.0)
        """
        return 0.0 if self.chosen_seconds is not None else SECONDS_PER_BOARD * max(0, boards - DEFAULT_BOARDS)
