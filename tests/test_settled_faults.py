"""Faults of a log at their boards: what counts, what is past, and what it comes to."""

from __future__ import annotations

import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from boardops.facts import FAULT_KINDS, Fault, Missing, Value, Values
from boardops.faults import NO_LOG, settle

AT = datetime.datetime(2026, 12, 1, 12, tzinfo=datetime.timezone.utc)
HERE, THERE = "0000:18:00.0", "0000:2a:00.0"


def settled(
    *faults: Fault, host: Values | None = None, board: Values | None = None
) -> tuple[dict[str, Value], dict[str, Value]]:
    """The host and the first of two boards with these faults in the log."""
    boards: list[Values] = [{"pci_address": HERE, **(board or {})}, {"pci_address": THERE}]
    told, (first, _) = settle({**(host or {}), "faults": faults}, boards, AT)
    return dict(told), dict(first)


def size(value: Value) -> int:
    assert isinstance(value, tuple)
    return len(value)


def xid(code: int, **more: object) -> Fault:
    return Fault("xid", str(code), **{"pci_address": HERE, **more})  # type: ignore[arg-type]


def test_a_fault_goes_to_its_board_and_to_no_other() -> None:
    host, (first, second) = settle({"faults": (xid(79),)}, [{"pci_address": HERE}, {"pci_address": THERE}], AT)
    assert "Xid 79" in str(first["fault.failing"]) and first["fault.failing_action"] == "reboot-host"
    assert (host["fault.failing"], second["fault.failing"]) == ((), ())


@pytest.mark.parametrize("address", ["0000:18:00", "0000:18:00.0", "0000:18:00.1"])
def test_the_function_of_an_address_does_not_matter(address: str) -> None:
    assert settled(xid(79, pci_address=address))[1]["fault.failing"]


def test_what_names_no_board_that_is_here_is_of_the_host() -> None:
    host, board = settled(Fault("sxid", "20034", "0000:05:00.0", detail="Fatal"), xid(79, pci_address="0000:99:00.0"))
    assert size(host["fault.failing"]) == 2 and board["fault.failing"] == ()


@pytest.mark.parametrize("gone", [Missing("not-permitted", "no right"), None])
def test_a_log_that_nobody_read_is_not_a_log_without_faults(gone: Missing | None) -> None:
    host, (board,) = settle({} if gone is None else {"faults": gone}, [{"pci_address": HERE}], AT)
    for values in (host, board):
        assert {values[name] for name in ("faults", "fault.failing", "fault.warning", "fault.noted")} == {
            gone or NO_LOG
        }


@pytest.mark.parametrize(
    ("fault", "host", "counts"),
    [
        (xid(79), {}, True),
        (xid(79, boot="-1"), {}, False),
        (xid(79, boot="0"), {"boot_id": "aaaa-bbbb"}, True),
        (xid(79, boot="aaaabbbb"), {"boot_id": "aaaa-bbbb"}, True),
        (xid(79, boot="ccccdddd"), {"boot_id": "aaaa-bbbb"}, False),
        (xid(79, boot="ccccdddd"), {}, True),
        (xid(79, time="2026-12-01T11:00:00Z"), {"uptime_seconds": 7200.0}, True),
        (xid(79, time="2026-12-01T09:00:00Z"), {"uptime_seconds": 7200.0}, False),
        (xid(79, time="2026-12-01T09:59:00Z"), {"uptime_seconds": 7200.0}, True),
        (xid(79, time="2026-11-01T09:00:00Z", last_time="2026-12-01T11:00:00Z"), {"uptime_seconds": 7200.0}, True),
        (xid(79, time="2026-12-01T09:00:00Z"), {"uptime_seconds": Missing("error", "?")}, True),
        (xid(79, time="nonsense"), {"uptime_seconds": 1.0}, True),
    ],
)
def test_a_fault_from_before_this_boot_is_past(fault: Fault, host: Values, counts: bool) -> None:
    _, board = settled(fault, host=host)
    assert bool(board["fault.failing"]) is counts
    assert bool(board["fault.noted"]) is not counts
    if not counts:
        assert "earlier boot" in str(board["fault.noted"]) and isinstance(board["fault.failing_action"], Missing)


@pytest.mark.parametrize(
    ("start", "counts"),
    [
        (Fault("kernel", "driver-loaded", boot="0", uptime_seconds=900.0), False),
        (Fault("kernel", "driver-loaded", boot="0", uptime_seconds=10.0), True),
        (Fault("kernel", "driver-loaded", boot="-1", uptime_seconds=900.0), True),
        (Fault("kernel", "board-reset", pci_address=HERE, boot="0", uptime_seconds=900.0), False),
        (Fault("kernel", "board-reset", pci_address=THERE, boot="0", uptime_seconds=900.0), True),
        (Fault("kernel", "board-reset", pci_address=HERE, boot="0"), True),
    ],
)
def test_a_fault_from_before_a_new_start_is_past(start: Fault, counts: bool) -> None:
    _, board = settled(xid(79, boot="0", uptime_seconds=500.0), start)
    assert bool(board["fault.failing"]) is counts


MEMORY = (
    xid(48, uptime_seconds=500.0, boot="0"),
    xid(63, uptime_seconds=501.0, boot="0"),
    xid(94, uptime_seconds=502.0, boot="0"),
)
RESET: Values = {
    "rows.pending": False,
    "rows.failed": False,
    "recovery_action": "none",
    "ecc.uncorrected_volatile_count": 0,
    "ecc.uncorrected_aggregate_count": 1,
    "architecture": "Ampere",
}


def test_a_contained_memory_error_asks_for_a_reset_and_never_for_another_board() -> None:
    before = {**RESET, "rows.pending": True, "ecc.uncorrected_volatile_count": 1}
    _, board = settled(*MEMORY, board=before)
    assert board["fault.failing"] == () and board["fault.warning_action"] == "reset-board"
    assert (size(board["fault.warning"]), size(board["fault.noted"])) == (1, 2)


@pytest.mark.parametrize(
    ("changes", "counts"),
    [
        ({}, False),
        ({"rows.pending": True}, True),
        ({"rows.failed": True}, True),
        ({"recovery_action": "reset"}, True),
        ({"recovery_action": Missing("not-supported", "old driver")}, False),
        ({"ecc.uncorrected_volatile_count": 1}, True),
        ({"ecc.uncorrected_volatile_count": Missing("error", "?")}, True),
        ({"rows.pending": Missing("error", "?")}, True),
        ({"ecc.uncorrected_aggregate_count": 0}, True),
        ({"ecc.uncorrected_aggregate_count": 0, "rows.remapped_uncorrected_count": 1}, False),
    ],
)
def test_after_the_reset_a_memory_error_is_past(changes: Values, counts: bool) -> None:
    _, board = settled(*MEMORY, board={**RESET, **changes})
    assert bool(board["fault.warning"]) is counts
    assert size(board["faults"]) == len(MEMORY)
    assert bool(board["fault.noted"])


def test_only_memory_errors_are_settled_by_counters_of_memory() -> None:
    assert settled(xid(79, boot="0"), board=RESET)[1]["fault.failing"]


def test_the_most_urgent_action_counts() -> None:
    assert settled(xid(64), xid(79))[1]["fault.failing_action"] == "replace-board"


FAULTS = st.builds(
    Fault,
    kind=st.sampled_from(FAULT_KINDS),
    code=st.sampled_from(["13", "48", "63", "79", "94", "154", "145", "driver-loaded", "x", ""]),
    pci_address=st.sampled_from([None, HERE, THERE, "0000:05:00.0", "odd"]),
    time=st.sampled_from([None, "2026-12-01T11:00:00Z", "2020-01-01T00:00:00Z", "odd", "2026-12-01T11:00:00"]),
    boot=st.sampled_from([None, "0", "-1", "abc"]),
    uptime_seconds=st.sampled_from([None, 0.0, 500.0]),
    count=st.integers(1, 10**6),
    detail=st.text(max_size=20),
    raw=st.text(max_size=20),
)


@given(st.lists(FAULTS, max_size=12))
def test_every_fault_stays_visible_and_is_at_one_place(faults: list[Fault]) -> None:
    host, boards = settle(
        {"faults": tuple(faults), "uptime_seconds": 3600.0}, [{"pci_address": HERE}, {"pci_address": THERE}], AT
    )
    everywhere = [*host["faults"], *boards[0]["faults"], *boards[1]["faults"]]  # type: ignore[misc]
    assert sorted(fault.count for fault in everywhere) == sorted(fault.count for fault in faults)
    for values in (host, *boards):
        told = [text for name in ("failing", "warning", "noted") for text in values[f"fault.{name}"]]  # type: ignore[union-attr]
        marks = [fault for fault in values["faults"] if fault.code == "driver-loaded"]  # type: ignore[union-attr]
        assert len(told) >= len(values["faults"]) - len(marks)  # type: ignore[arg-type]
