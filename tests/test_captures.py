"""Real output of vendor tools, kept outside the project: what was read, and what it was judged to be.

The folder lies beside the checkout where it is there at all; without it these tests are skipped.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from boardops.catalog.faults import annotate
from boardops.cli.request import Request
from boardops.cli.run import perform
from boardops.evaluate import Finding
from boardops.evidence import File, read_file
from boardops.facts import Fault, Missing, Value
from boardops.score import Result

FOLDER = Path(__file__).resolve().parents[2] / "shared" / "captures" / "nvidia"
MANIFEST = FOLDER / "MANIFEST.yaml"
needs_captures = pytest.mark.skipif(not MANIFEST.is_file(), reason="the folder of real captures is not here")

MIB = 2**20


def _word(text: str) -> str:
    return text.lower().replace(" ", "-")


def _reasons(names: list[str]) -> tuple[str, ...]:
    """Reasons by the names of the XML; the manifest has those of the plain text for a plain text."""
    words = [name.lower().replace(" ", "_") for name in names]
    return tuple({"idle": "gpu_idle", "display_clock_setting": "display_clocks_setting"}.get(w, w) for w in words)


# The names that the manifest uses, the facts, and how a manifest's value reads as a fact.
FACTS: Mapping[str, tuple[str, Callable[[Any], Value]]] = {
    "name": ("model", str),
    "pstate": ("performance_state", str),
    "fan.speed": ("fan_ratio", lambda v: v / 100),
    "temperature.gpu": ("temperature.core_celsius", float),
    "temperature.gpu.tlimit": ("temperature.margin_celsius", float),
    "temperature.slowdown_threshold": ("temperature.slowdown_celsius", float),
    "temperature.memory": ("temperature.memory_celsius", float),
    "pcie.link.gen.current": ("pcie.link_generation", int),
    "pcie.link.gen.max": ("pcie.link_generation_max", int),
    "pcie.link.gen.gpumax": ("pcie.device_generation_max", int),
    "pcie.link.gen.hostmax": ("pcie.host_generation_max", int),
    "pcie.link.width.current": ("pcie.link_width_lanes", int),
    "pcie.link.width.max": ("pcie.link_width_max_lanes", int),
    "pcie.replay_counter": ("pcie.replay_count", int),
    "memory.total": ("memory.total_bytes", lambda v: v * MIB),
    "memory.used": ("memory.used_bytes", lambda v: v * MIB),
    "memory.free": ("memory.free_bytes", lambda v: v * MIB),
    "memory.reserved": ("memory.reserved_bytes", lambda v: v * MIB),
    "utilization.gpu": ("utilization.compute_ratio", lambda v: v / 100),
    "utilization.memory": ("utilization.memory_ratio", lambda v: v / 100),
    "ecc.mode.current": ("ecc.enabled", lambda v: v == "Enabled"),
    "ecc.mode.pending": ("ecc.pending", lambda v: v == "Enabled"),
    "retired_pages.sbe": ("pages.retired_single_count", int),
    "retired_pages.dbe": ("pages.retired_double_count", int),
    "retired_pages.pending": ("pages.pending", lambda v: v == "Yes"),
    "retired_pages.pending_blacklist": ("pages.pending", lambda v: v == "Yes"),
    "remapped_rows.correctable": ("rows.remapped_corrected_count", int),
    "remapped_rows.uncorrectable": ("rows.remapped_uncorrected_count", int),
    "remapped_rows.pending": ("rows.pending", lambda v: v == "Yes"),
    "remapped_rows.failure": ("rows.failed", lambda v: v == "Yes"),
    "mig.mode.current": ("mig_enabled", lambda v: v == "Enabled"),
    "virtualization_mode": ("virtualization", _word),
    "gpu_recovery_action": ("recovery_action", _word),
    "fabric.state": ("fabric_state", _word),
    "fabric.health.summary": ("fabric_health", _word),
    "power.draw": ("power.draw_watts", float),
    "power.limit": ("power.limit_watts", float),
    "power.default_limit": ("power.default_limit_watts", float),
    "driver_version": ("driver_version", str),
    "ecc.errors.uncorrected.volatile.total": ("ecc.uncorrected_volatile_count", int),
    "clocks_event_reasons.active": ("clock.throttle_reasons", lambda v: ("gpu_idle",) if int(v, 16) & 1 else ()),
    "throttle.active": ("clock.throttle_reasons", _reasons),
}
NO_VALUE = {
    "N/A": "not-supported",
    "GPU is lost": "lost",
    "Requested functionality has been deprecated": "not-supported",
}
# What the manifest notes and no rule judges: a mode, a flag that drivers gave up, time spent under the power cap.
NOT_FACTS = {
    *("addressing_mode", "display_mode", "index", "inforom.checksum_validation", "kmd_version", "process_name"),
    *("gpu_name", "used_gpu_memory", "columns", "rows"),
    "reset_required",
    "clocks_event_reasons_counters.sw_power_cap",
}
ECC_SUMS = {
    "volatile": ("ecc.corrected_volatile_count", "ecc.uncorrected_volatile_count"),
    "aggregate": ("ecc.corrected_aggregate_count", "ecc.uncorrected_aggregate_count"),
}

# The readiness that rules and people agree on, by intent predeploy, at the time of the capture, and the reason.
READINESS: Mapping[str, tuple[str, str, set[str]]] = {
    "a100-sxm4-40gb-vm-570.xml": ("degraded", "healthy; its driver branch is past its end", {"driver.supported"}),
    "b200-x8-580.xml": ("degraded", "healthy; persistence mode is off on all boards", {"mode.persistence"}),
    "gb200-x4-arm64-580.xml": ("ready", "healthy; PCIe below the device's maximum is the platform's", set()),
    "gb300-x4-580.xml": ("ready", "healthy; a link above the host's stated maximum is no error", set()),
    "gtx-1070-x6-mining-risers-x1-384.xml": (
        "not-ready",
        "a miner holds a quarter of the memory, so no board is free; x1 risers and an old driver are warnings",
        {"memory.in_use", "pcie.width_of_board", "driver.floor", "mode.persistence"},
    ),
    "gtx-1080-ti-x8-gen2-p5-390.xml": (
        "degraded",
        "x8 of x16 on a model without an entry, an old driver; generation 2 in P5 is idling",
        {"pcie.width_of_board", "driver.floor", "mode.persistence"},
    ),
    "gtx-1080-x2-riser-x1-replay-65535-460.xml": (
        "not-ready",
        "a miner holds a third of the memory; x1 risers, and a replay counter at its end",
        {"memory.in_use", "pcie.width_of_board", "pcie.replay_saturated"},
    ),
    "h100-sxm-x8-replay-counters-580.xml": ("ready", "healthy; some hundred replays are a note", set()),
    "l40s-aws-x8-595.xml": ("ready", "healthy; this cloud wires x8, which is a note", set()),
    "mock-a100-v13-on-550.xml": ("degraded", "healthy; its driver branch is past its end", {"driver.supported"}),
    "mock-gb200-gpu0-ecc-remap-failure-580.xml": (
        "not-ready",
        "uncorrected errors and a row that could not be remapped",
        {"ecc.uncorrected", "rows.failed"},
    ),
    "mock-gb200-gpu0-power-cap-counter-580.xml": ("ready", "time under the power cap in the past is nothing", set()),
    "mock-gb200-gpu1-fabric-route-unhealthy-580.xml": ("not-ready", "a fabric route is unhealthy", {"fabric.health"}),
    "mock-gb200-gpu1-is-lost-580.xml": (
        "not-ready",
        "one board is lost, the other has memory errors",
        {"board.answers", "ecc.uncorrected", "rows.failed"},
    ),
    "a0s-fixture-2.csv": ("not-ready", "boards in use, and little else was asked for", {"memory.in_use"}),
    "query-compute-apps-h100-mig-load.csv": ("unknown", "processes alone make no board ready", set()),
    "query-gpu-all-h100-590-idle.csv": ("ready", "healthy and idle", set()),
    "query-gpu-all-h100-mig-590-load.csv": ("not-ready", "in use", {"memory.in_use"}),
    "query-gpu-all-h200-590-load.csv": ("not-ready", "in use", {"memory.in_use"}),
    "query-gpu-all-l40s-595-idle.csv": ("degraded", "persistence mode is off", {"mode.persistence"}),
    "query-gpu-all-rtx-2080-super-windows-610-idle.csv": ("not-ready", "a desktop", {"memory.in_use"}),
    "query-gpu-retired-pages-v100-azure.csv": ("unknown", "a few columns make no board ready", set()),
    "a10-remap-pending-535.txt": ("degraded", "a row remap waits for a reset", {"rows.pending"}),
    "a100-sxm4-40gb-x8-460.txt": ("degraded", "healthy; persistence mode is off", {"mode.persistence"}),
    "h100-590-load.txt": ("not-ready", "it computes, so it is not free", {"memory.in_use"}),
    "h100-mig-590-idle.txt": ("degraded", "idle instances hold a little memory", {"memory.in_use"}),
    "h100-x8-one-thermal-slowdown-535.txt": (
        "not-ready",
        "one board is held down by the power brake and by heat, and is in use",
        {"throttle.power_brake", "throttle.software_thermal", "memory.in_use"},
    ),
    "page-retirement-x8-clean-535.txt": ("unknown", "one section makes no board ready", set()),
    "page-retirement-x8-pending-and-dbe-535.txt": (
        "not-ready",
        "more pages are retired than a board may have",
        {"pages.pending", "pages.retired"},
    ),
    "rtx-2080-super-linux-610-idle.txt": (
        "degraded",
        "a desktop holds a little memory, persistence mode is off",
        {"memory.in_use", "mode.persistence"},
    ),
    "rtx-2080-ti-x4-sw-thermal-545.txt": (
        "not-ready",
        "boards in use, held down by heat, under a driver past its end",
        {"driver.supported", "memory.in_use", "throttle.software_thermal"},
    ),
    "rtx-4090-x8-odd-process-names-535.txt": ("not-ready", "boards in use", {"memory.in_use"}),
    "t4-aws-ecc-corrected-595.xml": (
        "ready",
        "one corrected error in the board's life is nothing, x8 is a note",
        set(),
    ),
}


TITLES = {"nvidia-smi-xml": "nvidia-smi XML", "nvidia-smi-q": "nvidia-smi text", "nvidia-smi-csv": "nvidia-smi CSV"}


def captures() -> list[dict[str, Any]]:
    if not MANIFEST.is_file():
        return []
    entries = yaml.safe_load(MANIFEST.read_text(encoding="utf-8"))["captures"]
    return [entry for entry in entries if entry["kind"] in TITLES]


CAPTURES = captures()


def _read(entry: Mapping[str, Any]) -> tuple[Mapping[str, Value], ...]:
    path = FOLDER / entry["file"]
    return read_file(File(path.name, path.read_bytes())).boards


def _check(board: Mapping[str, Value], field: str, value: Any) -> None:
    if field == "bus_id":
        domain, rest = value.lower().split(":", 1)
        assert board["pci_address"] == f"{int(domain, 16):04x}:{rest}"
        return
    if field == "ecc_nonzero":
        _check_ecc(board, value)
        return
    name, convert = FACTS[field]
    found = board[name]
    if isinstance(value, str) and value.strip("[]") in NO_VALUE:
        assert isinstance(found, Missing), (field, found)
        assert found.kind == NO_VALUE[value.strip("[]")], (field, found)
    else:
        assert found == pytest.approx(convert(value)) if isinstance(found, float) else found == convert(value), field


def _check_ecc(board: Mapping[str, Value], nonzero: Mapping[str, Any]) -> None:
    for span, facts in ECC_SUMS.items():
        for fact, word in zip(facts, ("correctable", "uncorrectable"), strict=True):
            parts = [value for key, value in nonzero.items() if key.startswith(span) and key.endswith(f"_{word}")]
            found = board[fact]
            if any(isinstance(part, str) for part in parts):
                assert isinstance(found, Missing) and found.kind == "lost"
            elif parts:
                assert found == sum(parts)


@needs_captures
@pytest.mark.parametrize("entry", CAPTURES, ids=lambda entry: entry["file"])
def test_every_value_of_the_manifest_is_read(entry: Mapping[str, Any]) -> None:
    boards = _read(entry)
    assert len(boards) == len(entry["per_gpu"]) or "compute-apps" in entry["file"]
    for board, fields in zip(boards, entry["per_gpu"], strict="apps" not in entry["file"]):
        for field, value in fields.items():
            # The CSV has average and instant power beside each other; the fact is the instant one.
            if field not in NOT_FACTS and (field != "power.draw" or entry["kind"] != "nvidia-smi-csv"):
                _check(board, field, value)
    for expected in entry["expected"]:
        number = expected.get("gpu", expected.get("row"))
        if number is not None and expected["field"] not in NOT_FACTS:
            _check(boards[number], expected["field"], expected["value"])


def _judge(name: str, intent: str = "predeploy") -> Result:
    def now() -> datetime.datetime:
        return datetime.datetime(2026, 12, 1, tzinfo=datetime.timezone.utc)

    return perform(Request(files=(str(FOLDER / name),), intent=intent, site_rules=Path("/nonexistent")), now)


def _roots(result: Result) -> set[str]:
    findings: list[Finding] = [*result.host.findings]
    for board in result.boards:
        findings += board.findings
    return {f.rule for f in findings if f.verdict in {"fail", "warn"} and f.caused_by is None}


@needs_captures
@pytest.mark.parametrize("entry", CAPTURES, ids=lambda entry: entry["file"])
def test_every_file_has_the_readiness_that_we_agree_on(entry: Mapping[str, Any]) -> None:
    readiness, _reason, rules = READINESS[Path(entry["file"]).name]
    result = _judge(entry["file"])
    assert result.readiness == readiness
    assert _roots(result) == rules
    assert result.partial == f"{TITLES[entry['kind']]} only"
    assert result.coverage >= _least_coverage(entry["file"], result)


def _least_coverage(name: str, result: Result) -> float:
    """Few values are few findings; what is whole has at least half."""
    if result.readiness == "unknown" or "page-retirement" in name:
        return 0.05
    return 0.35 if "lost" in name else 0.13 if "a0s" in name else 0.42


@needs_captures
def test_in_service_memory_that_is_used_is_no_fault() -> None:
    result = _judge("xml/gtx-1070-x6-mining-risers-x1-384.xml", intent="in-service")
    assert result.readiness == "degraded"
    assert "memory.in_use" not in _roots(result)


@needs_captures
def test_a_lost_board_does_not_hide_its_neighbour() -> None:
    result = _judge("xml/mock-gb200-gpu1-is-lost-580.xml")
    first, second = result.boards
    assert (first.score, second.score) == (40, 0)
    assert {f.missing for f in second.findings if f.verdict == "unknown" and f.caused_by} == {"lost"}
    assert all(f.caused_by == "board.answers" for f in second.findings if f.missing == "lost")


@needs_captures
def test_two_captures_of_different_hosts_at_one_address_are_refused() -> None:
    from boardops.errors import BoardopsError

    names = ("gtx-1080-ti-x8-gen2-p5-390.xml", "gtx-1070-x6-mining-risers-x1-384.xml")
    request = Request(files=tuple(str(FOLDER / "xml" / name) for name in names))
    with pytest.raises(BoardopsError) as caught:
        perform(request, lambda: datetime.datetime.now(datetime.timezone.utc))
    assert all(name in str(caught.value) for name in names)


def logs() -> list[dict[str, Any]]:
    if not MANIFEST.is_file():
        return []
    entries = yaml.safe_load(MANIFEST.read_text(encoding="utf-8"))["captures"]
    return [entry for entry in entries if entry["kind"] == "kernel-log"]


# Words of the manifest for lines without a code, and the code that we give them.
EVENTS = {
    "invalid context": "peermem-invalid-context",
    "No firmware image": "no-firmware",
    "RmInitAdapter failed": "adapter-init-failed",
    "Out of memory": "out-of-memory",
    "fallen off the bus (no Xid on this line)": "off-the-bus",
    "XidCriticalError": "79",
}
NO_FAULT = {"oom-kill", "marked unhealthy"}
"""Lines that go with another line."""


def _faults(entry: Mapping[str, Any]) -> list[Fault]:
    path = FOLDER / entry["file"]
    reading = read_file(File(path.name, path.read_bytes()))
    assert reading.kind == "kernel-log"
    told = reading.host["faults"]
    assert isinstance(told, tuple)
    return [annotate(fault) for fault in told if isinstance(fault, Fault)]


def _concerns(fault: Fault, code: str, expected: Mapping[str, Any]) -> bool:
    address = str(expected.get("bdf", "")).split(" ")[0].rstrip(":")
    same = not address or str(fault.pci_address).startswith(address)
    word = expected.get("severity") or expected.get("detail") or ""
    return fault.code == code and same and word.lower().replace("-", "") in fault.detail.lower().replace("-", "")


@needs_captures
@pytest.mark.parametrize("entry", logs(), ids=lambda entry: entry["file"])
def test_every_fault_of_a_log_is_read_and_as_bad_as_agreed(entry: Mapping[str, Any]) -> None:
    faults = _faults(entry)
    for expected in entry["expected"]:
        if "field" in expected:
            assert (expected["field"], expected["value"]) == ("xid_lines", 0)
            assert not [fault for fault in faults if fault.kind == "xid"]
            continue
        code = str(expected.get("xid") or expected.get("sxid") or EVENTS.get(expected.get("event", ""), ""))
        if expected.get("event") in NO_FAULT:
            continue
        found = [fault for fault in faults if _concerns(fault, code, expected)]
        assert found, expected
        suggested = str(expected.get("suggest", "")).split(" ")[0]
        # Lines that only describe a switch's fault further are no faults of their own.
        if "severity" in expected or "xid" in expected or "event" in expected:
            assert sum(fault.count for fault in found) >= expected["count"], (expected, found)
        if suggested in {"fail", "warn"} and ("xid" in expected or "severity" in expected):
            assert suggested in {fault.severity for fault in found}, (expected, found)
        if suggested == "info":
            assert {fault.severity for fault in found} == {"note"}, (expected, found)
