"""Numbers that cannot be, alone and on the whole road."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from boardops.facts import Missing, known
from boardops.plausible import BY_NAME, plausible
from tests.live import Standin, findings, standin
from tests.standin.behaviour import Value
from tests.standin.nvml import Nvml


def of(machine: Standin) -> Nvml:
    """The driver of a machine that has one."""
    assert machine.nvml is not None
    return machine.nvml


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("temperature.core_celsius", 0.0),
        ("temperature.core_celsius", -1.0),
        ("temperature.core_celsius", 4294967295.0),
        ("temperature.slowdown_celsius", 0.0),
        ("memory.total_bytes", 2**64 - 1),
        ("pcie.link_width_lanes", 33),
        ("pcie.link_generation", 255),
        ("power.draw_watts", 4294967.295),
        ("ecc.uncorrected_volatile_count", 2**64 - 1),
        ("ecc.uncorrected_volatile_count", 2**32 - 1),
        ("utilization.compute_ratio", 1.01),
        ("memory.used_bytes", -1),
    ],
)
def test_what_cannot_be_is_unreadable(name: str, value: float) -> None:
    found = plausible(name, value)
    assert isinstance(found, Missing) and found.kind == "unreadable" and "cannot be" in found.why


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("temperature.core_celsius", 1.0),
        ("temperature.core_celsius", 120.0),
        ("temperature.margin_celsius", -12.0),
        ("memory.total_bytes", 288 * 2**30),
        ("pcie.link_width_lanes", 0),
        ("pcie.replay_count", 65535),
        ("power.draw_watts", 1400.0),
        ("fan_ratio", 1.3),
        ("numa_node", 0),
        ("model", "X"),
        ("lost", True),
    ],
)
def test_what_can_be_stays(name: str, value: str | float) -> None:
    assert plausible(name, value) == value


def test_every_bound_is_of_a_fact() -> None:
    assert {f"board.{name}" for name in BY_NAME} <= set(known())


@given(st.sampled_from([name.partition(".")[2] for name in known() if name.startswith("board.")]), st.floats())
def test_nothing_raises(name: str, value: float) -> None:
    assert plausible(name, value) is value or isinstance(plausible(name, value), Missing)


@pytest.mark.parametrize(
    ("values", "rule"),
    [
        ({"temperature": 4294967295}, "temperature.core"),
        ({"memory_total": 2**64 - 1}, "memory.in_use"),
        ({"pcie_width": 4294967295}, "pcie.width"),
        ({"nvlink_state": 9}, "link.active"),
        ({"ecc_uncorrected_volatile_dram": 2**64 - 1}, "ecc.uncorrected"),
        ({"nvlink_count": 0}, "link.active"),
        ({"rows_failed": 7}, "rows.failed"),
    ],
)
def test_a_number_of_the_driver_that_cannot_be_is_no_good_sign(
    values: dict[str, Value], rule: str, tmp_path: Path
) -> None:
    machine = standin(tmp_path, 2)
    machine.nvml = of(machine).board(1, **values)
    code, report, _ = machine.check()
    assert findings(report, 1)[rule]["verdict"] == "unknown"
    assert (code, report["boards"][0]["readiness"], report["boards"][1]["readiness"]) == (3, "ready", "unknown")


def test_a_switch_that_is_neither_on_nor_off_is_unknown(tmp_path: Path) -> None:
    machine = standin(tmp_path, 2)
    machine.nvml = of(machine).board(1, ecc_mode=7)
    _, report, _ = machine.check()
    assert findings(report, 1)["ecc.enabled"]["verdict"] == "unknown"


def test_a_limit_of_nought_is_none(tmp_path: Path) -> None:
    machine = standin(tmp_path, 1)
    machine.nvml = of(machine).board(0, temperature_threshold_slowdown=0)
    _, report, _ = machine.check()
    assert findings(report, 0)["temperature.core"]["verdict"] != "fail"


@pytest.mark.parametrize("code", [2, 3, 6, 17])
@pytest.mark.parametrize(
    "asked",
    [
        "nvmlDeviceGetTemperature*",
        "nvmlDeviceGetTotalEccErrors",
        "nvmlDeviceGetRemappedRows",
        "nvmlDeviceGetMemoryInfo*",
    ],
)
def test_a_board_that_refuses_what_it_has_is_not_ready(asked: str, code: int, tmp_path: Path) -> None:
    machine = standin(tmp_path, 2)
    machine.nvml = of(machine).error(asked, code, board=1)
    exit_code, report, _ = machine.check()
    assert (exit_code, report["boards"][0]["readiness"], report["boards"][1]["readiness"]) == (3, "ready", "unknown")


@pytest.mark.parametrize(
    "asked", ["nvmlDeviceGetTemperature*", "nvmlDeviceGetTotalEccErrors", "nvmlDeviceGetRemappedRows"]
)
def test_boards_that_all_refuse_what_they_have_are_not_ready(asked: str, tmp_path: Path) -> None:
    machine = standin(tmp_path, 2)
    machine.nvml = of(machine).error(asked, 3)
    code, report, _ = machine.check()
    assert (code, report["readiness"]) == (3, "unknown")


@pytest.mark.parametrize(
    ("code", "readiness"), [(4, "unknown"), (15, "not-ready"), (16, "unknown"), (999, "not-ready")]
)
def test_a_board_without_a_handle_is_not_one_that_left_its_driver(code: int, readiness: str, tmp_path: Path) -> None:
    machine = standin(tmp_path, 3)
    machine.nvml = of(machine).handle_error(1, code)
    _, report, _ = machine.check()
    assert [board["readiness"] for board in report["boards"]] == ["ready", readiness, "ready"]
    assert findings(report, 1)["board.in_driver"]["verdict"] == "pass"
    assert findings(report, 1)["board.answers"]["verdict"] == ("fail" if readiness == "not-ready" else "unknown")
