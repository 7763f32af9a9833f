"""Output that broke other tools: fields that moved, were refused or never existed, and numbers that cannot be."""

from __future__ import annotations

from pathlib import Path

import pytest

from boardops.readers.nvidia_smi_xml import read
from tests.cli.program import boardops, one_line
from tests.complaints.sent import board_judged, judged
from tests.live import findings, standin
from tests.smi_xml import H100, compose, with_tags
from tests.standin.behaviour import Refused

REASONS = {path: "N/A" for path in H100 if path.startswith("clocks_event_reasons/")}
GB10 = {"product_name": "NVIDIA GB10", "pci/pci_device_id": "2E1210DE"}
NO_MEMORY = {f"fb_memory_usage/{part}": "N/A" for part in ("total", "used", "free", "reserved")}


@pytest.mark.parametrize(
    "tag",
    [
        "gpu_power_readings/instant_power_draw",
        "gpu_power_readings/power_draw",
        "gpu_power_readings/average_power_draw",
        "power_readings/power_draw",
    ],
)
def test_power_is_found_under_every_name_it_had(tag: str) -> None:
    """netdata/netdata#15755: driver 535 moved the reading to another element, and the metric vanished."""
    tags = with_tags(H100, without=("gpu_power_readings/instant_power_draw", "gpu_power_readings/average_power_draw"))
    board = read(compose([{**tags, tag: "70.93 W"}]).encode()).boards[0]
    assert board["power.draw_watts"] == 70.93


@pytest.mark.parametrize("field", ["device_minor", "encoder.stats.sessionCount", "compute_cap"])
def test_a_refused_column_is_named(field: str) -> None:
    """CoHDI/composable-resource-operator#37, influxdata/telegraf#6573, huggingface/candle#733: one field that the
    driver does not know, and the tool prints nothing else."""
    text = f'Field "{field}" is not a valid field to query.\n\n'
    done = boardops("check", "--from", "-", stdin=text.encode())
    assert done.returncode == 3
    assert field in one_line(done.stderr)


def test_a_row_without_values_is_no_healthy_board() -> None:
    """plambe/zabbix-nvidia-smi-multi-gpu#17: after one field was removed, a row of nothing but [N/A]."""
    rows = ("NVIDIA X, 00000000:18:00.0, 81559 MiB, 34", "[N/A], 00000000:2A:00.0, [N/A], [N/A]")
    code, report = judged("\n".join(("name, pci.bus_id, memory.total [MiB], temperature.gpu", *rows, "")))
    assert code == 3
    first, second = report["boards"]
    assert first["facts"]["temperature"]["core_celsius"] == 34.0
    assert second["readiness"] == "unknown" and second["facts"]["memory"]["total_bytes"]["missing"]


def test_throttle_reasons_that_a_driver_no_longer_gives_are_no_throttling() -> None:
    """plambe/zabbix-nvidia-smi-multi-gpu#17: a removed throttle field."""
    code, report = board_judged(REASONS)
    found = findings(report, 0)["throttle.thermal"]
    assert code == 0 and (found["verdict"], found["missing"]) == ("skipped", "not-supported")


def test_more_than_all_of_a_board_is_no_value() -> None:
    """NVIDIA/DCGM#152, NVIDIA/dcgm-exporter#105: use above 100 % where a board is split into instances."""
    _, report = board_judged({"utilization/gpu_util": "250 %"})
    value = report["boards"][0]["facts"]["utilization"]["compute_ratio"]
    assert isinstance(value, dict) and value["missing"] == "unreadable"


def test_more_than_all_of_a_board_is_no_value_of_the_driver_either(tmp_path: Path) -> None:
    """NVIDIA/DCGM#152: the same, where the driver's library says it. All of a board is a value."""
    machine = standin(tmp_path, 2)
    assert machine.nvml is not None
    machine.nvml = machine.nvml.board(0, utilization_gpu=101).board(1, utilization_gpu=100)
    _, report, _ = machine.check()
    first, second = (board["facts"]["utilization"]["compute_ratio"] for board in report["boards"])
    assert first["missing"] == "unreadable" and "101 %" in first["why"]
    assert second == 1.0


def test_a_split_board_has_no_use_of_zero_and_keeps_the_rest(tmp_path: Path) -> None:
    """XuehaiPan/nvitop#5, Syllo/nvtop#256: boards split into instances show nothing, or no use.
    aws/aws-parallelcluster-cookbook PR 3183: what cannot run on them shall be skipped, and nothing else."""
    machine = standin(tmp_path, 2)
    assert machine.nvml is not None
    withheld = {name: Refused(3) for name in ("utilization_gpu", "utilization_memory", "rows_pending")}
    machine.nvml = machine.nvml.board(0, mig_mode=1, mig_mode_pending=1, **withheld)
    code, report, _ = machine.check()
    assert code == 0 and report["usable"] == 2
    assert report["boards"][0]["facts"]["utilization"]["compute_ratio"]["missing"] == "not-supported"
    found = findings(report, 0)
    assert found["temperature.idle"]["verdict"] == found["rows.failed"]["verdict"] == "skipped"
    assert found["temperature.core"]["verdict"] == found["ecc.uncorrected"]["verdict"] == "pass"
    assert "split into instances" in found["mode.mig"]["note"]


def test_unified_memory_meets_no_need_that_nobody_could_check() -> None:
    """leptonai/gpud PR 1170, lablup/all-smi#80: a board with unified memory has no counters of its own."""
    code, report = board_judged({**GB10, **NO_MEMORY}, "--need", "free=70GiB")
    assert code == 3 and findings(report, 0)["need.free"]["verdict"] == "unknown"


def test_a_guest_is_asked_once_and_not_for_the_histogram(tmp_path: Path) -> None:
    """utkuozdemir/nvidia_gpu_exporter#384: asking a virtual board for the histogram of remapped rows fills the log of
    the guest's kernel. lseurttyuu/GPU-T PR 128: what was refused is asked again."""
    machine = standin(tmp_path, 1)
    assert machine.nvml is not None
    refused = {name: Refused(3) for name in ("ecc_mode", "rows_pending", "mig_mode")}
    machine.nvml = machine.nvml.board(0, virtualization_mode=2, memory_total=8 * 2**30, **refused)
    assert machine.check()[0] == 0
    asked = machine.nvml.calls_of(0)
    assert not [name for name in asked if "Histogram" in name]
    # Four facts want the first of them, two each of the others.
    assert {asked[f"nvmlDeviceGet{name}"] for name in ("RemappedRows", "EccMode", "MigMode")} == {1}
