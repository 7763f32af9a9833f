"""One event is told once: which faults are dragged along, by what, and what becomes of their root."""

from __future__ import annotations

import itertools

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from boardops.catalog.chain_table import read_chains
from boardops.catalog.chains import chain_table, fold
from boardops.catalog.faults import annotate, entry_of
from boardops.catalog.sourced import text_of
from boardops.facts import SEVERITIES, Fault
from boardops.yamlfile import YamlError

BOARD, OTHER, SWITCH = "0000:19:00.0", "0000:3b:00.0", "0000:05:00.0"
FATAL_LINK = "NETIR_LINK_EVT Fatal XC0 i0 Link 01 (0x021425c6 0x00000000)"
RESET = "GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset Required)"
REBOOT = "GPU recovery action changed from 0x0 (None) to 0x2 (Node Reboot Required)"
WITHDRAWN = "GPU recovery action changed from 0x1 (GPU Reset Required) to 0x0 (None)"


def at(seconds: float | None, code: str, board: str | None = BOARD, detail: str = "", kind: str = "xid") -> Fault:
    """An annotated fault at some seconds after a full hour; None for one without a time."""
    minute, second = divmod(seconds or 0, 60)
    time = None if seconds is None else f"2026-11-30T08:{int(minute):02d}:{second:06.3f}Z"
    return annotate(Fault(kind, code, board, time, time, detail=detail))  # type: ignore[arg-type]


def told(*faults: Fault) -> list[tuple[str, str, str, str]]:
    """Code, severity, action and cause of each fault after folding."""
    return [(fault.code, fault.severity, fault.action, fault.caused_by) for fault in fold(faults)]


def causes(*faults: Fault) -> list[str]:
    return [fault.caused_by for fault in fold(faults)]


@pytest.mark.parametrize("seconds", [(0, 0.03, 0.04), (0, 60, 299), (None, None, None)])
def test_a_contained_memory_error_is_one_warning_and_never_a_replacement(seconds: tuple[float | None, ...]) -> None:
    faults = [at(second, code) for second, code in zip(seconds, ("48", "63", "94"), strict=True)]
    for order in itertools.permutations(faults):
        group = {fault.code: fault for fault in fold(order)}
        assert (group["48"].severity, group["48"].action) == ("warn", "reset-board")
        assert "contained" in group["48"].meaning
        assert {group[code].severity for code in ("63", "94")} == {"note"}
        assert {group[code].caused_by for code in ("63", "94")} == {"xid:48"}
        assert all(fault.action != "replace-board" for fault in group.values())


@pytest.mark.parametrize(
    ("codes", "severity", "action"),
    [
        (("48",), "fail", "reset-board"),
        (("48", "63"), "warn", "reset-board"),
        (("48", "94"), "warn", "reset-board"),
        (("48", "64"), "fail", "replace-board"),
        (("48", "63", "64"), "fail", "replace-board"),
        (("48", "63", "95"), "fail", "reset-board"),
        (("48", "95"), "fail", "reset-board"),
        (("48", "171", "63", "94"), "warn", "reset-board"),
        (("48", "92"), "fail", "reset-board"),
        (("94", "63"), "warn", "reset-board"),
        (("94", "64"), "fail", "replace-board"),
        (("79", "48", "63", "94"), "fail", "reboot-host"),
        (("119", "45"), "fail", "reset-board"),
        (("13", "43"), "note", "restart-workload"),
    ],
)
def test_what_becomes_of_a_root(codes: tuple[str, ...], severity: str, action: str) -> None:
    root, *_ = fold([at(number / 10, code) for number, code in enumerate(codes)])
    assert (root.severity, root.action, root.caused_by) == (severity, action, "")


@pytest.mark.parametrize(
    ("faults", "expected"),
    [
        ([at(0, "48"), at(301, "63")], ["", ""]),
        ([at(0, "48"), at(299, "63")], ["", "xid:48"]),
        ([at(0, "48"), at(1, "63", OTHER)], ["", ""]),
        ([at(0, "48"), at(1, "63", BOARD.removesuffix(".0"))], ["", "xid:48"]),
        ([at(0, "48"), at(None, "63")], ["", ""]),
        ([at(0, "13"), at(1, "43"), at(2, "45")], ["", "xid:13", "xid:13"]),
        ([at(0, "31"), at(1, "43")], ["", "xid:31"]),
        ([at(5, "13"), at(0, "43")], ["", ""]),
        ([at(0, "43"), at(5, "13")], ["", ""]),
        ([at(0, "13"), at(61, "43")], ["", ""]),
        ([at(None, "43"), at(None, "13")], ["", ""]),
        ([at(0, "45")], [""]),
        ([at(0, "43"), at(1, "45")], ["", "xid:43"]),
        ([at(0, "62"), at(1, "45")], ["", "xid:62"]),
        ([at(0, "154", detail=RESET), at(1, "45")], ["", ""]),
        ([at(0, "79"), at(1, "119"), at(3000, "154", detail=REBOOT)], ["", "xid:79", "xid:79"]),
        ([at(0, "79"), at(3601, "119")], ["", ""]),
        ([at(0, "119"), at(10, "79")], ["", ""]),
        ([at(0, "79"), at(1, "119", OTHER)], ["", ""]),
        ([at(0, "79"), at(1, "79")], ["", ""]),
        ([at(0, "79"), at(0, "off-the-bus", kind="kernel")], ["", "xid:79"]),
        ([at(0, "off-the-bus", kind="kernel"), at(1, "119")], ["", "kernel:off-the-bus"]),
        (
            [at(0, "no-firmware", None, kind="kernel"), at(0, "adapter-init-failed", kind="kernel")],
            ["", "kernel:no-firmware"],
        ),
        ([at(0, "149", detail=FATAL_LINK), at(1, "145", detail="RLW_CTRL Nonfatal Link 01")], ["", "xid:149"]),
        ([at(0, "149", detail=FATAL_LINK), at(1, "145", detail="RLW_CTRL Nonfatal Link 02")], ["", ""]),
        ([at(0, "149", detail="NETIR Fatal Link -1"), at(1, "145", detail="RLW_CTRL Nonfatal Link -1")], ["", ""]),
        ([at(0, "149", detail=FATAL_LINK), at(1, "45")], ["", "xid:149"]),
        ([at(0, "149", detail=FATAL_LINK), at(200, "45", detail="Ch 8 caused by previous Xid 149")], ["", "xid:149"]),
        ([at(0, "45", detail="Ch 8 caused by previous Xid 149"), at(5, "149", detail=FATAL_LINK)], ["xid:149", ""]),
        (
            [at(0, "20034", SWITCH, "Fatal", "sxid"), at(1, "74"), at(1, "137", OTHER), at(2, "45")],
            ["", "sxid:20034", "sxid:20034", "sxid:20034"],
        ),
        ([at(0, "20034", SWITCH, "Non-fatal", "sxid"), at(1, "74")], ["", ""]),
        ([at(0, "20034", SWITCH, "Fatal", "sxid"), at(61, "74")], ["", ""]),
        ([at(None, "20034", SWITCH, "Fatal", "sxid"), at(None, "74")], ["", ""]),
        ([at(0, "79"), at(12, "20034", SWITCH, "Fatal", "sxid")], ["", "xid:79"]),
        # The other board's link may be at fault itself: no board speaks for another one.
        ([at(0, "79"), at(12, "20034", SWITCH, "Fatal", "sxid"), at(13, "74", OTHER)], ["", "xid:79", ""]),
    ],
)
def test_what_drags_what_along(faults: list[Fault], expected: list[str]) -> None:
    assert causes(*faults) == expected
    dragged = [fault for fault, cause in zip(fold(faults), expected, strict=True) if cause]
    assert all(fault.severity == "note" for fault in dragged)


def test_the_recovery_that_the_driver_asks_for_is_taken_over() -> None:
    assert told(at(0, "119"), at(1, "154", detail=REBOOT)) == [
        ("119", "fail", "reboot-host", ""),
        ("154", "note", "reboot-host", "xid:119"),
    ]
    # What the driver demands is never made milder, even where the memory error was contained.
    group = told(at(0, "48"), at(0.1, "63"), at(0.2, "94"), at(0.3, "154", detail=RESET))
    assert group[0] == ("48", "fail", "reset-board", "")
    assert [row[1] for row in group[1:]] == ["note"] * 3
    assert told(at(0, "94"), at(1, "154", detail=WITHDRAWN))[0] == ("94", "warn", "restart-workload", "")
    assert told(at(0, "154", detail=RESET)) == [("154", "fail", "reset-board", "")]
    assert causes(at(0, "94"), at(90, "154", detail=RESET)) == ["", ""]


def test_a_cause_that_is_not_among_the_faults_makes_nothing_milder() -> None:
    assert told(at(0, "94", detail="caused by previous Xid 48")) == [("94", "warn", "restart-workload", "")]
    assert told(at(0, "45", detail="caused by previous Xid 149")) == [("45", "note", "none", "xid:149")]
    assert causes(at(0, "45", detail="caused by previous Xid 45")) == [""]


def test_two_faults_that_name_each_other_never_both_vanish() -> None:
    faults = [at(None, "48", detail="caused by previous Xid 48"), at(0, "48", detail="caused by previous Xid 48")]
    once = fold(faults)
    assert [fault.severity for fault in once] == [fault.severity for fault in fold(once)] == ["note", "fail"]


def test_boots_and_what_is_past_are_kept_apart() -> None:
    root, dragged = at(0, "48"), at(1, "63")
    boots = [msgspec.structs.replace(fault, boot=boot) for fault, boot in ((root, "-1"), (dragged, "0"))]
    assert causes(*boots) == ["", ""]
    assert causes(*[msgspec.structs.replace(fault, boot="0") for fault in boots]) == ["", "xid:48"]
    assert causes(msgspec.structs.replace(root, past="the board was replaced"), dragged) == ["", ""]


def test_times_since_the_boot_serve_where_the_clock_is_not_known() -> None:
    def up(seconds: float, code: str, boot: str | None = "0") -> Fault:
        return annotate(Fault("xid", code, BOARD, boot=boot, uptime_seconds=seconds))

    assert causes(up(10, "48"), up(11, "63")) == ["", "xid:48"]
    assert causes(up(10, "48"), up(999, "63")) == ["", ""]
    assert causes(up(10, "48"), up(11, "63", "-1")) == ["", ""]
    assert causes(up(float("nan"), "48"), up(11, "63")) == ["", ""]


def test_one_of_many_that_lies_outside_is_not_explained() -> None:
    late = msgspec.structs.replace(at(1, "63"), count=2, last_time="2026-11-30T20:00:00Z")
    assert causes(at(0, "48"), late) == ["", ""]


_codes = st.sampled_from(["13", "31", "43", "45", "48", "63", "64", "74", "79", "94", "95", "119", "145", "149", "154"])
_details = st.sampled_from(["", FATAL_LINK, RESET, REBOOT, WITHDRAWN, "caused by previous Xid 48", "Fatal", "Link 1"])
_faults = st.builds(
    at,
    st.none() | st.integers(0, 400) | st.integers(0, 5),
    _codes,
    st.sampled_from([BOARD, OTHER, None]),
    _details,
) | st.builds(at, st.integers(0, 60), st.sampled_from(["20034", "12028"]), st.just(SWITCH), _details, st.just("sxid"))


@given(st.lists(_faults, max_size=12))
def test_folding_loses_nothing_and_hides_nothing(faults: list[Fault]) -> None:
    folded = fold(faults)
    assert [(fault.kind, fault.code, fault.time) for fault in folded] == [(f.kind, f.code, f.time) for f in faults]
    twice = fold(folded)
    assert all(again.caused_by or not once.caused_by for once, again in zip(folded, twice, strict=True))
    here = {f"{fault.kind}:{fault.code}" for fault in faults}
    for before, after in zip(faults, folded, strict=True):
        assert after.severity in SEVERITIES
        if after.severity != before.severity and after.severity == "note":
            assert after.caused_by in here
        if after.caused_by == "" and before.severity == "fail" and after.severity == "warn":
            assert before.code == "48"
        assert after.severity == "note" or not after.caused_by
    if any(fault.severity != "note" for fault in faults):
        assert any(fault.severity != "note" for fault in folded)
        assert any(fault.severity != "note" for fault in twice)


@given(st.lists(_faults, max_size=8))
def test_a_failing_board_stays_failing_unless_its_error_was_contained(faults: list[Fault]) -> None:
    """A switch may take a fault of a board over; a board's own faults never vanish from it."""
    folded = fold(faults)
    for board in (BOARD, OTHER):
        own = [fault for fault in faults if fault.pci_address == board]
        left = [fault for fault in folded if fault.pci_address == board]
        if any(f.severity == "fail" and f.code not in {"48", "74"} for f in own):
            assert any(fault.severity == "fail" for fault in left) or any(f.caused_by.startswith("sxid") for f in left)


def test_a_long_log_is_folded_quickly_enough() -> None:
    faults = [
        annotate(Fault("xid", "45", BOARD, uptime_seconds=float(n), boot="0", detail=f"Ch {n}")) for n in range(3000)
    ]
    faults += [
        annotate(Fault("xid", "48", BOARD, uptime_seconds=float(n), boot="0", detail=f"{n}")) for n in range(3000)
    ]
    assert sum(bool(fault.caused_by) for fault in fold(faults)) == 3000


def test_every_chain_names_codes_that_the_catalog_has() -> None:
    for chain in chain_table().chains:
        assert chain.why and chain.sources
        for code in chain.roots.codes | chain.drags.codes:
            kind, _, number = code.partition(":")
            assert entry_of(kind, number) is not None, code


TEXT, FILE = text_of("chains.yaml")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("drags: [xid:63, xid:94]", "drags: [xid:]"),
        ("drags: [xid:63, xid:94]", "drags: [dix:63]"),
        ("xid:144-148", "xid:148-144"),
        ("xid:144-148", "xid:1-999999"),
        ("group: settled", "group: worst"),
        ("group: worst", "group: settled"),
        ("within: 300", "within: soon"),
        ("within: 300", "within: -1"),
        ("where: link", "where: rack"),
        ("  - id: cleanup\n", "  - id: fabric\n"),
        ("order: any", "order: before"),
        ("slack_seconds: 5", "slack_seconds: five"),
        ("sources: [own]", "sources: [won]"),
    ],
)
def test_a_mistake_in_the_chains_is_noticed(old: str, new: str) -> None:
    assert old in TEXT
    with pytest.raises(YamlError, match=r"chains\.yaml:\d+: "):
        read_chains(TEXT.replace(old, new, 1), FILE)
