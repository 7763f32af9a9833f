"""Ways in which other checkers fail open, that is, report success where they could not look; each tried here.

The public source of each stands with it. What it says of the tool is our reading of its code.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from boardops.cases import check_cases
from boardops.cli.run import rule_layers
from boardops.rules import load
from tests.cli.program import boardops, one_line
from tests.live import findings, standin
from tests.smi_xml import H100, compose, with_tags

Report = dict[str, Any]


def judged(
    tmp_path: Path, changes: Mapping[str, str], *options: str, without: tuple[str, ...] = ()
) -> tuple[int, Report]:
    path = tmp_path / "smi.xml"
    path.write_text(compose([with_tags(H100, changes, without)]), encoding="utf-8")
    done = boardops("check", "--from", str(path), "--format", "json", *options)
    return done.returncode, json.loads(done.stdout)


def test_no_library_and_no_board_is_no_health(tmp_path: Path) -> None:
    """leptonai/gpud: `scan` ends with 0 whatever it found; no NVML or no board counts as healthy."""
    machine = standin(tmp_path, 1)
    machine.nvml = machine.cuda = None
    machine.files = machine.files.missing(0)
    code, report, _ = machine.check(env={"PATH": str(tmp_path)})
    assert (code, report["readiness"]) == (3, "unknown")


@pytest.mark.parametrize("error", [9, 10, 17, 999])
def test_a_driver_that_does_not_start_is_no_warning(tmp_path: Path, error: int) -> None:
    """facebookresearch/gcm: a driver that is not loaded and most NVML errors become a warning."""
    machine = standin(tmp_path, 1)
    assert machine.nvml is not None
    machine.nvml = machine.nvml.error("nvmlInit*", error)
    assert machine.check()[0] == 3


def test_a_rule_that_is_switched_off_is_no_pass(tmp_path: Path) -> None:
    """facebookresearch/gcm: a check that was switched off answers OK."""
    rules = tmp_path / "site.yaml"
    rules.write_text(
        "schema: boardops.rules/1\nrules:\n  - {id: rows.failed, off: the site replaces boards itself}\n",
        encoding="utf-8",
    )
    code, report = judged(tmp_path, {"remapped_rows/remapped_row_failure": "Yes"}, "--rules", str(rules))
    found = findings(report, 0)["rows.failed"]
    assert found["verdict"] == "skipped" and "the site replaces boards itself" in found["reason"]
    assert code == 0


def test_a_model_that_nobody_knows_is_still_judged(tmp_path: Path) -> None:
    """Azure/azurehpc-health-checks: a size without a configuration file ends with 0."""
    unknown = {"product_name": "NVIDIA Z9000", "pci/pci_device_id": "FFFF10DE"}
    code, report = judged(tmp_path, {**unknown, "remapped_rows/remapped_row_failure": "Yes"})
    assert code == 2 and findings(report, 0)["rows.failed"]["verdict"] == "fail"
    narrow = {"pci/pci_gpu_link_info/link_widths/current_link_width": "8x"}
    code, report = judged(tmp_path, {**unknown, **narrow})
    assert code == 1 and findings(report, 0)["pcie.width_of_board"]["verdict"] == "warn"


def test_a_log_that_was_not_read_is_no_log_without_faults(tmp_path: Path) -> None:
    """Azure/azurehpc-health-checks: where the system log is missing, the test of fault codes passes."""
    machine = standin(tmp_path, 1)
    machine.files = machine.files.with_files({"dev/kmsg": None})
    found = findings(machine.check()[1], 0)["faults.hardware"]
    assert (found["verdict"], found["missing"]) == ("unknown", "not-permitted")


@pytest.mark.parametrize("text", ["schema: boardops.rules/1\nrules: [", "schema: other/1\n", ""])
def test_an_error_of_the_checker_is_no_success(tmp_path: Path, text: str) -> None:
    """nebius/soperator: missing variables, an unknown platform and the checker's own error all end with 0."""
    rules = tmp_path / "site.yaml"
    rules.write_text(text, encoding="utf-8")
    done = boardops("check", "--cpu", "--rules", str(rules))
    assert done.returncode == 3 and str(rules) in one_line(done.stderr)


@pytest.mark.parametrize("value", ["N/A", "[N/A]", "Unknown Error", "ERR!", "nonsense", ""])
def test_a_link_width_that_cannot_be_read_is_unknown(tmp_path: Path, value: str) -> None:
    """oracle-quickstart/oci-hpc: N/A as link width raises, is caught, and the summary skips it."""
    tag = "pci/pci_gpu_link_info/link_widths/current_link_width"
    code, report = judged(tmp_path, {tag: value})
    found = findings(report, 0)["pcie.width"]
    assert found["verdict"] in {"unknown", "skipped"}
    if value not in {"N/A", "[N/A]"}:
        assert found["verdict"] == "unknown" and code == 3


@pytest.mark.parametrize("value", ["N/A", "[Unknown Error]", "GPU is lost", ""])
def test_an_ecc_row_that_cannot_be_read_is_unknown(tmp_path: Path, value: str) -> None:
    """awslabs/awsome-distributed-training: a row of error counters with N/A is skipped without a word."""
    parts = ("sram_uncorrectable_parity", "sram_uncorrectable_secded", "dram_uncorrectable")
    code, report = judged(tmp_path, {f"ecc_errors/volatile/{part}": value for part in parts})
    found = findings(report, 0)["ecc.uncorrected"]
    assert found["verdict"] == "unknown" and code in {2, 3}


def test_a_count_that_nobody_gave_is_unknown(tmp_path: Path) -> None:
    """awslabs/awsome-distributed-training: without metadata there is no expected count, and no check of it."""
    path = tmp_path / "smi.xml"
    text = compose([H100], attached=8)
    path.write_text(text, encoding="utf-8")
    assert boardops("check", "--from", str(path)).returncode == 3
    path.write_text(text.replace("<attached_gpus>8</attached_gpus>", ""), encoding="utf-8")
    assert boardops("check", "--from", str(path)).returncode == 3


def test_an_exit_code_is_trusted_in_neither_direction(tmp_path: Path) -> None:
    """NVIDIA/deepops: the prolog looks for a word and inverts the exit code of the search. See also the matrix."""
    code, report = judged(tmp_path, {"product_name": "failsafe FAIL error"})
    assert findings(report, 0)["board.answers"]["verdict"] == "pass" and code == 0


def test_a_failure_changes_the_exit_code_by_default(tmp_path: Path) -> None:
    """aquasecurity/kube-bench: failures do not change the exit code unless it is asked for."""
    assert judged(tmp_path, {"remapped_rows/remapped_row_failure": "Yes"})[0] == 2
    assert judged(tmp_path, {"remapped_rows/remapped_row_failure": "Yes"}, "--allow-warnings")[0] == 2


def test_every_limit_can_fire(tmp_path: Path) -> None:
    """scitix/sichek: temperature limits stand in every specification, and their checker is never built."""
    for rule in load(rule_layers([])[:1]).rules:
        fired = {result.got for result in check_cases(rule)}
        wanted = {"fail": "fail", "warn": "warn", "note": "pass with a note"}[rule.severity]
        assert wanted in fired, rule.id
    code, report = judged(tmp_path, {"temperature/gpu_temp": "99 C", "temperature/gpu_temp_tlimit": "-12 C"})
    assert code == 2 and findings(report, 0)["temperature.core"]["verdict"] == "fail"


def test_a_health_word_that_nobody_knows_is_not_healthy(tmp_path: Path) -> None:
    """Scripts around npu-smi look for a word and take anything else as fine."""
    code, report = judged(tmp_path, {"fabric/state": "Sideways"})
    assert code == 3 and findings(report, 0)["fabric.state"]["verdict"] == "unknown"
