"""What other tools call a fault and is none, each beside the fault that it is taken for."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.complaints.sent import board_judged
from tests.live import Standin, findings, standin
from tests.standin.behaviour import Value
from tests.standin.nvml import H100, RTX_4090, V100, Nvml

GENERATION = "pci/pci_gpu_link_info/pcie_gen/current_link_gen"
WIDTH = "pci/pci_gpu_link_info/link_widths/current_link_width"
L4 = {
    "product_name": "NVIDIA L4",
    "pci/pci_device_id": "27B810DE",
    "fb_memory_usage/total": "23034 MiB",
    "fb_memory_usage/free": "22500 MiB",
}
A100_WITHOUT_BRIDGE: dict[str, Value] = {
    "name": "NVIDIA A100 80GB PCIe",
    "pci_device": 0x20B510DE,
    "pcie_generation": 4,
    "pcie_generation_max": 4,
    "pcie_generation_max_board": 4,
    "nvlink_count": 12,
    "nvlink_state": 0,
    "fabric_state": 0,
}
ABSOLUTE = ("temperature/gpu_temp_tlimit", "temperature/gpu_temp_slow_tlimit_threshold")


def of_model(tmp_path: Path, model: Mapping[str, Value], **values: Value) -> Standin:
    machine = standin(tmp_path, 1)
    machine.nvml = Nvml(tmp_path / "driver", count=1, model=model).board(0, **values)
    # The bus and the driver tell of one board.
    machine.files = machine.files.board(0, device=device_of({**model, **values}))
    return machine


def device_of(model: Mapping[str, Value]) -> str:
    number = model["pci_device"]
    assert isinstance(number, int)
    return f"{number >> 16:04x}"


@pytest.mark.parametrize(
    ("generation", "state", "use", "code", "verdict"),
    [("1", "P8", "0 %", 0, "skipped"), ("2", "P2", "97 %", 1, "warn"), ("5", "P0", "97 %", 0, "pass")],
    ids=["Syllo/nvtop#6", "local-inference-lab/rtx6kpro-PR-88", "full-speed"],
)
def test_a_link_is_slow_only_under_load(generation: str, state: str, use: str, code: int, verdict: str) -> None:
    """Syllo/nvtop#6: an idle link shows Gen1. local-inference-lab/rtx6kpro PR 88: a board that trains stays at Gen2."""
    changes = {GENERATION: generation, "performance_state": state, "utilization/gpu_util": use}
    found_code, report = board_judged(changes, "--intent", "in-service")
    assert (found_code, findings(report, 0)["pcie.generation"]["verdict"]) == (code, verdict)


def test_an_idle_board_for_games_has_no_fault(tmp_path: Path) -> None:
    """Syllo/nvtop#448, utkuozdemir/nvidia_gpu_exporter#8: many boards offer no temperature of their memory.
    NVIDIA/open-gpu-kernel-modules#731: an idle board shows Gen1."""
    code, report, _ = of_model(tmp_path, RTX_4090).check()
    found = findings(report, 0)
    assert code == 0
    assert {found[rule]["verdict"] for rule in ("temperature.memory", "pcie.generation", "ecc.uncorrected")} == {
        "skipped"
    }


@pytest.mark.parametrize(("lanes", "code", "verdict"), [("16x", 0, "pass"), ("8x", 0, "pass"), ("4x", 2, "fail")])
def test_lanes_are_judged_by_what_platforms_wire(lanes: str, code: int, verdict: str) -> None:
    """aws/aws-k8s-tester PR 806: sixteen lanes are demanded on machines that have fewer."""
    found_code, report = board_judged({**L4, WIDTH: lanes})
    assert (found_code, findings(report, 0)["pcie.width"]["verdict"]) == (code, verdict)
    assert (findings(report, 0)["pcie.width_of_model"]["note"] is not None) == (lanes == "8x")


@pytest.mark.parametrize(("degrees", "verdict"), [(76, "pass"), (90, "pass"), (97, "warn"), (98, "fail")])
def test_the_limit_of_a_temperature_is_the_boards_own(degrees: int, verdict: str) -> None:
    """NVIDIA/DCGM#270: a warning below 75 degrees. mmontes11/k8s-infrastructure PR 115: 85 is wrong for that board."""
    changes = {"temperature/gpu_temp": f"{degrees} C", "temperature/gpu_temp_slow_threshold": "98 C"}
    _, report = board_judged(changes, "--intent", "in-service", without=ABSOLUTE)
    assert findings(report, 0)["temperature.core"]["verdict"] == verdict


def test_a_negative_margin_is_heat(tmp_path: Path) -> None:
    """leptonai/gpud PR 1208: a margin below zero was misread."""
    machine = standin(tmp_path, 1)
    assert machine.nvml is not None
    machine.nvml = machine.nvml.board(0, temperature=92, temperature_margin=-5)
    code, report, _ = machine.check()
    assert report["boards"][0]["facts"]["temperature"]["margin_celsius"] == -5.0
    assert code == 2 and findings(report, 0)["temperature.core"]["verdict"] == "fail"


def test_a_driver_without_margins_is_no_fault(tmp_path: Path) -> None:
    """leptonai/gpud PR 1186: the call for the margin crashes before driver 570."""
    machine = standin(tmp_path, 1)
    assert machine.nvml is not None
    machine.nvml = machine.nvml.missing("nvmlDeviceGetMarginTemperature", "nvmlDeviceGetTemperatureV")
    code, report, _ = machine.check()
    assert code == 0 and findings(report, 0)["temperature.core"]["verdict"] == "pass"


def test_links_without_a_bridge_are_no_fault(tmp_path: Path) -> None:
    """Azure/azhpc-diagnostics#73: inactive links of boards that nobody has bridged raise an alarm."""
    code, report, _ = of_model(tmp_path, H100, **A100_WITHOUT_BRIDGE).check()
    assert code == 0 and findings(report, 0)["link.active"]["verdict"] in {"skipped", "unknown"}
    assert not [f["rule"] for f in report["boards"][0]["findings"] if f["verdict"] in {"warn", "fail"}]


def test_links_without_a_bridge_are_left_out_with_the_right_reason(tmp_path: Path) -> None:
    """Azure/azhpc-diagnostics#73: the same; what is not judged should say why."""
    _, report, _ = of_model(tmp_path, H100, **A100_WITHOUT_BRIDGE).check()
    found = findings(report, 0)["link.active"]
    assert found["verdict"] == "skipped" and "catalog" in found["reason"]


def test_a_page_that_waits_needs_a_reset_and_no_new_board(tmp_path: Path) -> None:
    """Azure/azhpc-diagnostics PR 46: please say that a pending page retirement only needs a reset."""
    code, report, _ = of_model(tmp_path, V100, retired_pending=1).check()
    found = findings(report, 0)["pages.pending"]
    assert code == 1 and found["verdict"] == "warn"
    assert found["remedy"]["action"] == "reset-board" and "replace" not in found["remedy"]["text"].lower()


def test_a_machine_without_a_fabric_has_no_alarm_of_it(tmp_path: Path) -> None:
    """NVIDIA/NVSentinel#1471, NVIDIA/aicr#2641: an alarm of IMEX on machines that do not use it."""
    code, report, _ = of_model(tmp_path, V100).check()
    found = findings(report, 0)
    assert code == 0
    assert {found[rule]["verdict"] for rule in ("fabric.state", "fabric.status", "fabric.health")} == {"skipped"}


def test_a_sensor_that_cannot_be_read_is_not_hot() -> None:
    """tigerblue77/Dell_iDRAC_fan_controller_Docker#159: an unreadable sensor is reported as overheating."""
    code, report = board_judged({"temperature/gpu_temp": "[Unknown Error]"})
    unread = findings(report, 0)["temperature.core"]
    assert code == 3 and unread["verdict"] == "unknown" and unread["remedy"]["action"] != "check-cooling"
    _, report = board_judged({"temperature/gpu_temp": "93 C", "temperature/gpu_temp_tlimit": "-6 C"})
    hot = findings(report, 0)["temperature.core"]
    assert hot["verdict"] == "fail" and hot["remedy"]["action"] == "check-cooling"
    assert hot["reason"] != unread["reason"]
