"""Growth of counters since an earlier run."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from boardops.facts import Missing, Value, Values
from boardops.growth import GROWN, NO_EARLIER_RUN, Baseline, add_growth

BOOT: Values = {"boot_id": "a"}
COUNTER, GROWTH = "pcie.replay_count", "pcie.replay_growth_count"


def grown(now: Values, then: Values | None, *, boot: Values = BOOT) -> Value:
    before = None if then is None else Baseline(BOOT, ({"pci_address": "0000:01:00.0", **then},))
    _, (board,) = add_growth(boot, [{"pci_address": "0000:01:00.0", **now}], before)
    assert set(GROWN) <= set(board)
    value: Value = board[GROWTH]
    return value


@pytest.mark.parametrize(
    ("now", "then", "growth"),
    [
        (10, 4, 6),
        (4, 4, 0),
        (3, 10, 3),  # It was reset, and counts from zero again.
        (Missing("lost", "gone"), 4, Missing("lost", "gone")),
        (4, Missing("error", "?"), Missing("not-supported", "the earlier run has no value of this counter")),
    ],
)
def test_growth(now: Value, then: Value, growth: Value) -> None:
    assert grown({COUNTER: now}, {COUNTER: then}) == growth


def test_a_boot_in_between_counts_from_zero() -> None:
    assert grown({COUNTER: 10}, {COUNTER: 4}, boot={"boot_id": "b"}) == 10


def test_without_an_earlier_run_nothing_is_judged() -> None:
    assert grown({COUNTER: 10}, None) == NO_EARLIER_RUN


@pytest.mark.parametrize("name", ["serial", "uuid"])
def test_another_board_has_no_earlier_run(name: str) -> None:
    value = grown({COUNTER: 10, name: "new"}, {COUNTER: 4, name: "old"})
    assert isinstance(value, Missing) and value.kind == "not-supported" and "old" in value.why


@given(st.integers(0, 10**9), st.integers(0, 10**9))
def test_growth_is_never_negative_nor_more_than_there_is(now: int, then: int) -> None:
    value = grown({COUNTER: now}, {COUNTER: then})
    assert isinstance(value, int) and 0 <= value <= now
