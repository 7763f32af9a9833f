"""The whole program on a stand-in machine: real pynvml and real probes, over stand-ins of the driver and of sysfs."""

from __future__ import annotations

import json
import re
import shutil
import signal
from dataclasses import replace
from pathlib import Path

import pytest

from tests.cli.program import boardops
from tests.kernel_log_text import Said, compose_log
from tests.live import HOST_FILES, Standin, findings, outcomes, standin
from tests.standin.behaviour import Refused, Value
from tests.standin.nvml import Nvml
from tests.standin.pci_device import Link
from tests.standin.sysfs import machine


@pytest.mark.parametrize("count", [1, 8, 16])
def test_healthy_boards_are_ready(tmp_path: Path, count: int) -> None:
    code, report, error = standin(tmp_path, count).check()
    assert (code, error) == (0, ""), [f for b in report["boards"] for f in b["findings"] if f["verdict"] != "pass"][:5]
    assert report["readiness"] == "ready" and report["usable"] == count
    assert report["partial"] is None
    assert report["coverage"] > 0.95
    assert set(outcomes(report).values()) == {"ok"}
    board = report["boards"][0]
    assert board["facts"]["slot"] and board["facts"]["pcie"]["port_address"]
    assert findings(report)["runtime.cuda"]["verdict"] == "pass"
    # Each fact says which source gave it.
    assert findings(report, 0)["temperature.core"]["evidence"] == ["nvml-2"]
    assert "pci-4" in findings(report, 0)["pcie.width_of_port"]["evidence"]


def test_one_driver_initialisation_a_run(tmp_path: Path) -> None:
    machine_ = standin(tmp_path)
    machine_.check()
    assert machine_.nvml is not None
    calls = machine_.nvml.calls()
    assert sum(calls.get(name, 0) for name in ("nvmlInit_v2", "nvmlInitWithFlags")) == 1


def test_a_lost_board_fails_alone(tmp_path: Path) -> None:
    machine_ = standin(tmp_path)
    assert machine_.nvml is not None
    machine_.nvml = machine_.nvml.lost(3, after_calls=2)
    code, report, _ = machine_.check()
    assert code == 2 and report["usable"] == 7
    assert findings(report, 3)["board.answers"]["verdict"] == "fail"
    assert all(
        f["caused_by"] for f in report["boards"][3]["findings"] if f["verdict"] == "unknown" and f["missing"] == "lost"
    )
    assert report["boards"][2]["readiness"] == "ready"


def test_a_board_that_only_the_bus_shows_has_a_failing_row(tmp_path: Path) -> None:
    machine_ = standin(tmp_path)
    machine_.nvml = Nvml(tmp_path / "driver", count=7)
    code, report, _ = machine_.check()
    assert code == 2 and report["usable"] == 7 and len(report["boards"]) == 8
    worst = report["boards"][7]
    assert worst["readiness"] == "not-ready" and worst["score"] == 0
    assert findings(report, 7)["board.in_driver"]["verdict"] == "fail"
    assert report["boards"][0]["readiness"] == "ready"


def test_a_board_that_is_electrically_gone(tmp_path: Path) -> None:
    machine_ = standin(tmp_path)
    machine_.files = machine_.files.dead(7)
    machine_.nvml = Nvml(tmp_path / "driver", count=7)
    _, report, _ = machine_.check()
    found = findings(report, 7)
    assert found["pcie.config"]["verdict"] == "fail"
    assert found["board.in_driver"]["caused_by"] == "pcie.config"


def test_a_board_kept_for_a_virtual_machine_is_skipped(tmp_path: Path) -> None:
    machine_ = standin(tmp_path)
    machine_.files = machine_.files.vfio(7)
    machine_.nvml = Nvml(tmp_path / "driver", count=7)
    code, report, _ = machine_.check()
    assert findings(report, 7)["board.in_driver"]["verdict"] == "skipped"
    assert "virtual machine" in findings(report, 7)["board.in_driver"]["reason"]
    assert code == 0, report["readiness"]


def test_a_narrow_port_is_named(tmp_path: Path) -> None:
    machine_ = standin(tmp_path)
    assert machine_.nvml is not None
    machine_.files = machine_.files.narrower_port(2, width=8)
    _, report, _ = machine_.check()
    pcie = report["boards"][2]["facts"]["pcie"]
    assert (pcie["port_width_max_lanes"], pcie["port_address"]) == (8, machine_.files.boards[2].parent)


def test_a_switch_that_lost_lanes_is_named(tmp_path: Path) -> None:
    machine_ = standin(tmp_path)
    ports = machine_.files.ports
    above = {port.address: port for port in ports}
    board = machine_.files.boards[2]
    upstream = above[above[board.parent].parent]
    slow = replace(upstream, link=Link(5, 8, 5, 16))
    machine_.files = replace(machine_.files, ports=tuple(slow if port is upstream else port for port in ports))
    code, report, _ = machine_.check()
    found = findings(report, 2)["pcie.uplink_width"]
    assert code == 1 and found["verdict"] == "warn"
    assert upstream.parent in found["reason"] and "x8" in found["reason"]
    assert findings(report, 3)["pcie.uplink_width"]["verdict"] == "pass"


def container(tmp_path: Path, given: int, in_driver: int) -> Standin:
    """A container on a host with eight boards that was given the first few of them."""
    machine_ = standin(tmp_path)
    for number in range(given, 8):
        machine_.files = machine_.files.no_node(number)
    machine_.files = machine_.files.with_files({"run/.containerenv": ""})
    machine_.nvml = Nvml(tmp_path / "driver", count=in_driver)
    return machine_


def test_a_container_that_was_given_two_of_eight(tmp_path: Path) -> None:
    code, report, _ = container(tmp_path, given=2, in_driver=2).check()
    assert code == 0, report["cause"]
    assert [board["readiness"] for board in report["boards"][:2]] == ["ready"] * 2
    other = findings(report, 5)["board.in_driver"]
    assert other["verdict"] == "skipped" and "its device node is not here" in other["reason"]
    assert findings(report)["boards.on_bus"]["verdict"] == "skipped"


def test_a_container_that_lost_a_board_it_was_given(tmp_path: Path) -> None:
    code, report, _ = container(tmp_path, given=3, in_driver=2).check()
    assert code == 2
    lost = findings(report, 2)["board.in_driver"]
    assert lost["verdict"] == "fail"
    assert findings(report, 5)["board.in_driver"]["verdict"] == "skipped"


def test_a_container_that_does_not_tell_whose_nodes_are_whose(tmp_path: Path) -> None:
    machine_ = container(tmp_path, given=3, in_driver=2)
    hidden = {
        f"proc/driver/nvidia/gpus/{device.address}/information": None for device in machine_.files.boards.values()
    }
    machine_.files = machine_.files.with_files(hidden)
    code, report, _ = machine_.check()
    assert code == 3
    assert "was given 3 boards and the driver has 2" in findings(report, 5)["board.in_driver"]["reason"]


def test_links_against_catalog_and_peers(tmp_path: Path) -> None:
    machine_ = standin(tmp_path)
    assert machine_.nvml is not None
    machine_.nvml = machine_.nvml.board(4, nvlink_state_7=0)
    code, report, _ = machine_.check()
    found = findings(report, 4)
    assert code == 2 and found["link.active"]["reason"].endswith("down: 7")
    assert found["link.peers"]["verdict"] == "warn" and found["link.peers"]["caused_by"] == "link.active"


def test_boards_of_one_part_number_with_different_inforoms(tmp_path: Path) -> None:
    machine_ = standin(tmp_path)
    assert machine_.nvml is not None
    machine_.nvml = machine_.nvml.board(4, inforom_version="G520.0200.00.01")
    code, report, _ = machine_.check()
    assert code == 0 and "2 different" in findings(report)["boards.inforom"]["note"]


def test_what_has_grown_since_an_earlier_run(tmp_path: Path) -> None:
    machine_ = standin(tmp_path)
    assert machine_.nvml is not None
    healthy = machine_.nvml
    machine_.nvml = healthy.board(1, pcie_replay_counter=500)
    code, report, _ = machine_.check()
    assert code == 0 and findings(report, 1)["pcie.replay_growth"]["verdict"] == "skipped"
    before = tmp_path / "before.record"
    (tmp_path / "run.record").rename(before)
    machine_.nvml = healthy.board(1, pcie_replay_counter=590).board(2, pcie_replay_counter=70)
    code, report, _ = machine_.check("--baseline", str(before))
    assert code == 1
    assert findings(report, 1)["pcie.replay_growth"]["reason"].startswith("90 packets")
    assert findings(report, 2)["pcie.replay_growth"]["verdict"] == "pass"


@pytest.mark.parametrize(
    ("text", "words"),
    [("not a record", "is no record"), ('{"schema":"boardops.record/1"', "cannot be read"), (None, "cannot read")],
)
def test_a_baseline_that_is_none_costs_the_comparison_only(tmp_path: Path, text: str | None, words: str) -> None:
    path = tmp_path / "earlier"
    if text is not None:
        path.write_text(text, encoding="utf-8")
    machine_ = standin(tmp_path, 2)
    code, report, _ = machine_.check("--baseline", str(path))
    assert (code, report["readiness"]) == (0, "ready")
    growth = findings(report, 0)["pcie.replay_growth"]
    assert growth["verdict"] == "unknown" and words in growth["reason"] and str(path) in growth["reason"]
    assert findings(report)["boards.gone"]["verdict"] == "unknown"
    assert [entry["outcome"] for entry in report["evidence"] if entry["source"] == "baseline"] == ["failed"]


def test_a_baseline_of_another_host(tmp_path: Path) -> None:
    machine_ = standin(tmp_path, 1)
    machine_.check()
    done = boardops("check", "--cpu", "--format", "json", "--baseline", str(tmp_path / "run.record"))
    gone = findings(json.loads(done.stdout))["boards.gone"]
    assert gone["verdict"] == "unknown" and "another host, 'gpu-node-01'" in gone["reason"]


def test_a_later_run_is_no_baseline(tmp_path: Path) -> None:
    machine_ = standin(tmp_path, 1)
    machine_.check()
    later = tmp_path / "later.record"
    text = (tmp_path / "run.record").read_text(encoding="utf-8")
    later.write_text(re.sub(r'"read_at":"20\d\d', '"read_at":"2199', text, count=1), encoding="utf-8")
    _, report, _ = machine_.check("--baseline", str(later))
    growth = findings(report, 0)["pcie.replay_growth"]
    assert growth["verdict"] == "unknown" and "later than this run" in growth["reason"]


def test_a_record_that_lost_a_part_is_not_ready(tmp_path: Path) -> None:
    machine_ = standin(tmp_path, 1)
    machine_.check()
    record = json.loads((tmp_path / "run.record").read_text(encoding="utf-8"))
    for name in ("host", "nvml", "cuda", "pci"):
        left = {**record, "answers": [entry for entry in record["answers"] if entry["source"] != name]}
        (tmp_path / "left.record").write_text(json.dumps(left, indent=1), encoding="utf-8")
        done = boardops("check", "--format", "json", "--from", str(tmp_path / "left.record"))
        report = json.loads(done.stdout)
        assert done.returncode in {2, 3} and f"lacks what the {name} probe printed" in report["partial"]


def test_no_library_with_boards_on_the_bus_is_unknown(tmp_path: Path) -> None:
    machine_ = standin(tmp_path)
    machine_.nvml = machine_.cuda = None
    code, report, _ = machine_.check(env={"PATH": str(tmp_path)})
    assert code == 3 and report["readiness"] == "unknown"
    assert len(report["boards"]) == 8
    found = findings(report, 0)
    assert found["board.in_driver"]["verdict"] == "unknown" and found["board.in_driver"]["missing"] == "not-installed"
    assert found["temperature.core"]["missing"] == "not-installed", "never left out as if nobody had asked"
    assert outcomes(report)["nvml"] == "not-installed"


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (9, "kernel module is not loaded"),
        (18, "different versions"),
        (4, "may not read"),
        (999, "unknown error"),
    ],
)
def test_a_driver_that_does_not_start_says_why(tmp_path: Path, code: int, words: str) -> None:
    machine_ = standin(tmp_path)
    assert machine_.nvml is not None
    machine_.nvml = machine_.nvml.error("nvmlInit*", code)
    exit_code, report, _ = machine_.check()
    assert exit_code == 3
    assert words in findings(report, 0)["board.in_driver"]["reason"]
    assert words in next(entry["why"] for entry in report["evidence"] if entry["source"] == "nvml")


def test_a_field_that_the_board_refuses_costs_nothing_else(tmp_path: Path) -> None:
    machine_ = standin(tmp_path)
    assert machine_.nvml is not None
    machine_.nvml = machine_.nvml.error("nvmlDeviceGetPcieReplayCounter", 3).error("nvmlDeviceGetFanSpeed*", 999)
    code, report, _ = machine_.check()
    assert code == 0
    facts = report["boards"][0]["facts"]
    assert facts["pcie"]["replay_count"]["missing"] == "not-supported"
    assert facts["fan_ratio"]["missing"] == "error"
    assert facts["memory"]["total_bytes"] > 0


def test_a_missing_symbol_is_not_supported(tmp_path: Path) -> None:
    machine_ = standin(tmp_path)
    assert machine_.nvml is not None
    machine_.nvml = machine_.nvml.missing("nvmlDeviceGetRemappedRows")
    _, report, _ = machine_.check()
    assert report["boards"][0]["facts"]["rows"]["failed"]["missing"] == "not-supported"
    assert report["boards"][0]["facts"]["memory"]["total_bytes"] > 0


def test_a_hung_board_costs_its_own_row(tmp_path: Path) -> None:
    machine_ = standin(tmp_path)
    assert machine_.nvml is not None
    machine_.nvml = machine_.nvml.hang("nvmlDeviceGetTemperature*", board=5)
    code, report, _ = machine_.check("--deadline", "2")
    assert code == 3
    assert outcomes(report)["nvml"] == "timed-out"
    hung = findings(report, 5)
    assert hung["temperature.core"]["missing"] == "timed-out"
    assert report["boards"][5]["facts"]["pcie"]["port_width_max_lanes"] == 16, "what needs no driver is there"
    assert [board["readiness"] for board in report["boards"]].count("ready") == 7


def test_more_boards_get_more_time(tmp_path: Path) -> None:
    machine_ = standin(tmp_path, 12)
    assert machine_.nvml is not None
    # Longer than the sources of eight boards may take.
    machine_.nvml = machine_.nvml.delay("nvmlInit*", 9.5)
    code, report, _ = machine_.check()
    assert code == 0, report["cause"]
    code, report, _ = machine_.check("--deadline", "3")
    assert code == 3 and outcomes(report)["nvml"] == "timed-out"


def test_what_hangs_is_looked_for_after_a_source_was_silent(tmp_path: Path) -> None:
    machine_ = standin(tmp_path, 2)
    assert machine_.nvml is not None
    machine_.nvml = machine_.nvml.hang("nvmlDeviceGetEccMode", board=1)
    task = "proc/4242/task/4242"
    stat = f"4242 (nvidia-smi) D {' '.join(['0'] * 18)} 100 0"
    machine_.files = machine_.files.with_files({f"{task}/stat": stat, f"{task}/wchan": "nv_lock_gpu"})
    machine_.files = machine_.files.with_files({"proc/uptime": "9000.0 1.0"})
    code, report, _ = machine_.check("--deadline", "2")
    assert code == 2
    assert outcomes(report)["stuck"] == "ok"
    found = findings(report)["driver.stuck"]
    assert found["verdict"] == "fail" and "nvidia-smi (pid 4242" in found["reason"] and "nv_lock_gpu" in found["reason"]
    assert findings(report, 1)["ecc.enabled"]["caused_by"] == "driver.stuck"
    why = next(entry["why"] for entry in report["evidence"] if entry["source"] == "nvml")
    assert "0000:2a:00.0 did not answer nvmlDeviceGetEccMode within" in why


def test_a_driver_that_hangs_at_its_start_still_gives_every_board_a_row(tmp_path: Path) -> None:
    machine_ = standin(tmp_path)
    assert machine_.nvml is not None
    machine_.nvml = machine_.nvml.hang("nvmlInit*")
    code, report, _ = machine_.check("--deadline", "1")
    assert code == 3 and len(report["boards"]) == 8
    assert {board["readiness"] for board in report["boards"]} == {"unknown"}
    assert findings(report, 0)["board.in_driver"]["missing"] == "timed-out"


def test_after_a_crash_each_board_is_asked_once_more_alone(tmp_path: Path) -> None:
    machine_ = standin(tmp_path)
    assert machine_.nvml is not None
    # The crash comes late, so that most boards are not done when it takes them all.
    machine_.nvml = machine_.nvml.crash("nvmlDeviceGetEccMode", board=1, by=signal.SIGSEGV)
    code, report, _ = machine_.check()
    assert code == 3 and len(report["boards"]) == 8
    assert [board["readiness"] for board in report["boards"]] == ["ready", "unknown", *["ready"] * 6]
    outcomes_ = [entry["outcome"] for entry in report["evidence"] if entry["source"] == "nvml"]
    assert outcomes_.count("crashed") == 2, "the run of all, and the board that crashes it"
    assert findings(report, 1)["ecc.enabled"]["missing"] == "error"


@pytest.mark.parametrize(
    ("code", "word"), [(802, "system-not-ready"), (803, "system-driver-mismatch"), (999, "unknown")]
)
def test_all_green_and_no_job_starts(tmp_path: Path, code: int, word: str) -> None:
    machine_ = standin(tmp_path)
    assert machine_.cuda is not None
    machine_.cuda = machine_.cuda.init_fails(code)
    exit_code, report, _ = machine_.check()
    assert exit_code == 2
    found = findings(report)["runtime.cuda"]
    assert found["verdict"] == "fail" and word in found["reason"]
    own = [f for f in report["boards"][0]["findings"] if f["missing"] != "not-collected"]
    assert {f["verdict"] for f in own} == {"pass", "skipped"}


def test_library_and_module_of_different_versions(tmp_path: Path) -> None:
    machine_ = standin(tmp_path)
    machine_.files = machine_.files.driver("570.148.08")
    code, report, _ = machine_.check()
    assert code == 2
    assert findings(report)["driver.module"]["verdict"] == "fail"


def test_a_corrupted_inforom(tmp_path: Path) -> None:
    machine_ = standin(tmp_path)
    assert machine_.nvml is not None
    machine_.nvml = machine_.nvml.error("nvmlDeviceValidateInforom", 14, board=4)
    _, report, _ = machine_.check()
    assert findings(report, 4)["board.inforom"]["verdict"] == "fail"


def test_boards_of_a_vendor_without_a_probe_are_unknown(tmp_path: Path) -> None:
    machine_ = Standin(tmp_path, machine("ascend", 2).with_files(HOST_FILES), None, None)
    code, report, _ = machine_.check()
    assert code == 3 and len(report["boards"]) == 2
    assert findings(report, 0)["board.in_driver"]["verdict"] == "unknown"


def test_nvidia_smi_stands_in_where_the_library_cannot_be_loaded(tmp_path: Path) -> None:
    from tests.smi_xml import H100, compose, with_tags

    machine_ = standin(tmp_path, 2)
    machine_.nvml = None
    tool = tmp_path / "bin" / "nvidia-smi"
    tool.parent.mkdir()
    boards = [with_tags(H100, {"pci/pci_bus_id": f"00000000:{bus}:00.0"}) for bus in ("18", "2A")]
    (tmp_path / "smi.xml").write_text(compose(boards), encoding="utf-8")
    tool.write_text(f"#!/bin/sh\nexec cat {tmp_path / 'smi.xml'}\n", encoding="utf-8")
    tool.chmod(0o755)
    code, report, _ = machine_.check(env={"PATH": f"{tool.parent}:/usr/bin:/bin"})
    assert outcomes(report)["nvml"] == "not-installed" and outcomes(report)["nvidia-smi"] == "ok"
    assert findings(report, 0)["temperature.core"]["verdict"] == "pass"
    assert code == 0, [f for f in report["boards"][0]["findings"] if f["verdict"] not in {"pass", "skipped"}]


def test_refused_values_are_never_zero(tmp_path: Path) -> None:
    machine_ = standin(tmp_path, 1)
    assert machine_.nvml is not None
    machine_.nvml = machine_.nvml.board(0, temperature=Refused(15))
    _, report, _ = machine_.check()
    assert report["boards"][0]["facts"]["temperature"]["core_celsius"]["missing"] == "lost"


def test_a_board_that_only_the_driver_has(tmp_path: Path) -> None:
    machine_ = standin(tmp_path)
    machine_.files = machine_.files.missing(6)
    code, report, _ = machine_.check()
    assert code == 2 and len(report["boards"]) == 8
    assert findings(report, 6)["board.on_bus"]["verdict"] == "fail"
    assert findings(report, 6)["pcie.config"]["caused_by"] == "board.on_bus"
    assert report["boards"][5]["readiness"] == "ready"


@pytest.mark.parametrize("hidden", ["boards", "bus"])
def test_a_container_with_a_masked_sys_is_unknown_and_not_broken(tmp_path: Path, hidden: str) -> None:
    machine_ = standin(tmp_path, 2)
    machine_.files = machine_.files.with_files({"run/.containerenv": ""})
    machine_.check()
    bus = tmp_path / "root/sys/bus/pci"
    shutil.rmtree(bus)
    if hidden == "boards":
        (bus / "devices").mkdir(parents=True)
    code, report, _ = machine_.check()
    assert code == 3 and len(report["boards"]) == 2
    found = findings(report, 0)["board.on_bus"]
    assert (found["verdict"], found["missing"]) == ("unknown", "not-permitted")
    assert "/sys" in found["remedy"]["text"] and found["remedy"]["action"] == "grant-access"
    assert not any(f["verdict"] == "fail" for board in report["boards"] for f in board["findings"])


def test_under_wsl_the_bus_has_no_boards(tmp_path: Path) -> None:
    machine_ = standin(tmp_path, 1)
    machine_.files = machine_.files.with_files({"proc/sys/kernel/osrelease": "5.15.153.1-microsoft-standard-WSL2"})
    machine_.files = machine_.files.missing(0)
    code, report, _ = machine_.check()
    assert findings(report, 0)["board.on_bus"]["verdict"] == "skipped"
    assert code == 0, [f for f in report["boards"][0]["findings"] if f["verdict"] not in {"pass", "skipped"}]


def test_a_container_without_the_drivers_library(tmp_path: Path) -> None:
    machine_ = standin(tmp_path, 2)
    machine_.files = machine_.files.no_node(0).no_node(1).with_files({"run/.containerenv": ""})
    machine_.nvml = machine_.cuda = None
    code, report, _ = machine_.check(env={"PATH": str(tmp_path)})
    assert code == 3
    found = findings(report, 0)["temperature.core"]
    assert (found["missing"], found["remedy"]["action"]) == ("not-installed", "grant-access")
    assert "--gpus all" in found["remedy"]["text"]


def test_a_guest_with_a_virtual_board(tmp_path: Path) -> None:
    machine_ = standin(tmp_path, 1)
    assert machine_.nvml is not None
    refused = {name: Refused(3) for name in ("ecc_mode", "rows_pending", "temperature", "power_usage", "nvlink_count")}
    machine_.nvml = machine_.nvml.board(0, virtualization_mode=2, memory_total=8 * 2**30, **refused)
    code, report, _ = machine_.check()
    assert code == 0, [f for f in report["boards"][0]["findings"] if f["verdict"] not in {"pass", "skipped"}]
    assert findings(report, 0)["memory.size"]["verdict"] == "skipped"


# The log of one boot in which a memory error was contained and a row remap recorded.
MEMORY_ERROR = [
    Said(
        500.0,
        "NVRM: Xid (PCI:0000:2a:00): 48, pid='<unknown>', name=<unknown>, An uncorrectable double bit error (DBE) has "
        "been detected on GPU in the framebuffer",
    ),
    Said(500.1, "NVRM: Xid (PCI:0000:2a:00): 63, pid='<unknown>', name=<unknown>, Row Remapper: New row marked"),
    Said(500.2, "NVRM: Xid (PCI:0000:2a:00): 94, pid=7, name=python3, Contained: SM (0x1). RST: No, D-RST: No"),
]
A100: dict[str, Value] = {
    "name": "NVIDIA A100-SXM4-80GB",
    "pci_device": 0x20B210DE,
    "architecture": 7,
    "nvlink_count": 12,
    "pcie_generation": 4,
    "pcie_generation_max": 4,
    "pcie_generation_max_board": 4,
    "fabric_state": 0,
    "ecc_uncorrected_aggregate_dram": 1,
    "rows_uncorrected": 1,
    "temperature": 34,
}


@pytest.mark.parametrize("pending", [1, 0])
def test_a_contained_memory_error_before_and_after_the_reset(tmp_path: Path, pending: int) -> None:
    """One boot, one log: drain and reset, never replace; after the reset ready, with a note."""
    machine_ = standin(tmp_path, 2)
    log = compose_log("kmsg", MEMORY_ERROR).decode()
    machine_.files = machine_.files.with_files({"dev/kmsg": log, "proc/uptime": "9000.00 1.00\n"})
    machine_.files = machine_.files.board(0, device="20b2").board(1, device="20b2")
    assert machine_.nvml is not None
    machine_.nvml = machine_.nvml.board(0, **{**A100, "ecc_uncorrected_aggregate_dram": 0, "rows_uncorrected": 0})
    machine_.nvml = machine_.nvml.board(1, **A100).board(1, rows_pending=pending)
    code, report, _ = machine_.check()
    found = findings(report, 1)
    actions = {item["remedy"]["action"] for item in found.values() if item["verdict"] in {"warn", "fail"}}
    if pending:
        assert (code, report["readiness"]) == (1, "degraded")
        assert actions == {"reset-board"}
        assert "Xid 48" in found["faults.degrading"]["reason"]
    else:
        assert (code, report["readiness"], actions) == (0, "ready", set())
        assert "Xid 48" in found["faults.noted"]["note"] and "reset" in found["faults.noted"]["note"]
