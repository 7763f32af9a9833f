"""How the time of a run is divided."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from boardops.budget import Budget


def test_eight_boards_of_a_slow_driver_are_not_cut_off_by_default() -> None:
    starting, answering = 8 * 1.0, 100 * 0.005
    assert Budget().first_seconds > starting + answering
    assert Budget().total_seconds <= 10


@pytest.mark.parametrize(("boards", "more"), [(0, 0), (8, 0), (9, 1.25), (16, 10)])
def test_more_boards_get_more_time_unless_the_deadline_was_chosen(boards: int, more: float) -> None:
    assert Budget().more_for(boards) == more
    assert Budget(10).more_for(boards) == 0


@given(st.floats(0.1, 86400))
def test_the_first_sources_leave_time_for_the_later_ones(seconds: float) -> None:
    budget = Budget(seconds)
    assert 0.9 * seconds <= budget.first_seconds + 1e-9 < seconds
    assert 0 < budget.patience_seconds < budget.first_seconds
