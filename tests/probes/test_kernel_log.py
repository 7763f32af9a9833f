"""The probe of the kernel log, on files that lie in a folder."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from boardops.facts import Missing
from boardops.readers import kernel_probe
from boardops.readers.reading import Reading
from tests.kernel_log_text import Said, compose_log
from tests.live import findings, standin
from tests.probes.program import started

XID79 = Said(500.0, "NVRM: Xid (PCI:0000:2a:00): 79, pid=1, name=a, GPU has fallen off the bus.")


def found(root: Path) -> Reading:
    argv = started("kernel_log", "--root", str(root))
    done = subprocess.run(argv, capture_output=True, timeout=60, check=True, env={"PATH": "/nonexistent"})
    assert done.stderr == b""
    return kernel_probe.read(done.stdout)


def written(root: Path, name: str, text: bytes | str, mode: int = 0o644) -> None:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    path.chmod(mode)


def test_the_records_of_the_kernel(tmp_path: Path) -> None:
    written(tmp_path, "dev/kmsg", compose_log("kmsg", [XID79]))
    reading = found(tmp_path)
    assert reading.complete and "'79'" in repr(reading.host["faults"]) and reading.host["log.covers_boot"] is True


@pytest.mark.parametrize("tool", ["journalctl", "dmesg"])
def test_where_the_kernel_may_not_be_asked_a_tool_is(tmp_path: Path, tool: str) -> None:
    written(tmp_path, "log", compose_log("journal-monotonic", [XID79]))
    written(tmp_path, f"usr/bin/{tool}", f"#!/bin/sh\n/bin/cat {tmp_path}/log\n", 0o755)
    if tool == "dmesg":
        written(tmp_path, "usr/bin/journalctl", "#!/bin/sh\necho '-- No entries --'\n", 0o755)
    assert "'79'" in repr(found(tmp_path).host["faults"])


@pytest.mark.parametrize(
    ("tool", "words"),
    [
        (None, "no /dev/kmsg here"),
        ("#!/bin/sh\necho 'dmesg: read kernel buffer failed' >&2; exit 1\n", "no /dev/kmsg here"),
    ],
)
def test_a_log_that_may_not_be_read_is_no_log_without_faults(tmp_path: Path, tool: str | None, words: str) -> None:
    if tool:
        written(tmp_path, "usr/bin/dmesg", tool, 0o755)
    values = found(tmp_path).host
    assert set(values) == set(kernel_probe.FILLS)
    for value in values.values():
        assert isinstance(value, Missing) and value.kind == "not-permitted" and words in value.why


def test_an_empty_log_is_an_error(tmp_path: Path) -> None:
    written(tmp_path, "dev/kmsg", "\n")
    assert "empty" in repr(found(tmp_path).host["faults"])


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read all")
def test_a_log_without_the_right_to_it(tmp_path: Path) -> None:
    written(tmp_path, "dev/kmsg", "x", 0o000)
    assert "dmesg_restrict" in repr(found(tmp_path).host["faults"])


def test_a_storm_is_cut_with_a_sentence(tmp_path: Path) -> None:
    storm = [Said(float(number), f"NVRM: Xid (PCI:0000:2a:00): 31, Ch {number}") for number in range(21_000)]
    written(tmp_path, "dev/kmsg", compose_log("kmsg", storm, noise=False))
    reading = found(tmp_path)
    assert "the last 20000 are read" in reading.problems[0]
    assert reading.host["log.covers_boot"] is True


def test_a_fault_of_this_boot_fails_its_board_and_an_older_one_does_not(tmp_path: Path) -> None:
    machine = standin(tmp_path, 2)
    machine.files = machine.files.with_files(
        {"dev/kmsg": compose_log("kmsg", [XID79]).decode(), "proc/uptime": "9000.00 1.00\n"}
    )
    code, report, _ = machine.check()
    assert code == 2 and report["boards"][0]["readiness"] == "ready"
    finding = findings(report, 1)["faults.hardware"]
    assert finding["verdict"] == "fail" and "Xid 79" in finding["reason"]
    assert finding["remedy"]["action"] == "reboot-host"
    assert report["boards"][1]["facts"]["faults"][0]["last_time"]


def test_without_the_right_to_the_log_boards_are_ready_and_it_is_said(tmp_path: Path) -> None:
    machine = standin(tmp_path, 2)
    machine.files = machine.files.with_files({"dev/kmsg": None})
    code, report, _ = machine.check()
    finding = findings(report, 1)["faults.hardware"]
    assert (finding["verdict"], finding["missing"], finding["remedy"]["action"]) == (
        "unknown",
        "not-permitted",
        "grant-access",
    )
    assert code == 0
