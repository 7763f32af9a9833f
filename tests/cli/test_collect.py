"""`boardops collect`: evidence in a file, judged elsewhere."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.program import boardops, one_line


def test_what_is_collected_is_judged_elsewhere(tmp_path: Path) -> None:
    record = tmp_path / "host.record"
    done = boardops("collect", "--cpu", "--intent", "in-service", "-o", str(record))
    assert (done.returncode, done.stdout) == (0, "")
    report = json.loads(boardops("check", "--from", str(record), "--format", "json").stdout)
    assert (report["readiness"], report["intent"]) == ("ready", "in-service")
    assert {entry["source"] for entry in report["evidence"]} >= {"host", "nvml", "cuda", "pci"}


def test_through_a_pipe() -> None:
    done = boardops("collect", "--cpu", "-o", "-")
    again = boardops("check", "--from", "-", stdin=done.stdout.encode())
    assert done.returncode == again.returncode == 0


def test_what_could_not_be_read_is_said(tmp_path: Path) -> None:
    done = boardops("collect", "-o", str(tmp_path / "x"), "--root", str(tmp_path), env={"LD_LIBRARY_PATH": ""})
    assert done.returncode == 0
    assert all(line.startswith("boardops: ") for line in done.stderr.splitlines())
    assert any("PCI bus" in line or "nvml" in line for line in done.stderr.splitlines())


def test_a_place_that_cannot_be_written(tmp_path: Path) -> None:
    done = boardops("collect", "--cpu", "-o", str(tmp_path / "no" / "such" / "x"))
    assert done.returncode == 3 and "no/such/x" in done.stderr.splitlines()[-1]
    wrong = boardops("collect")
    assert wrong.returncode == 3 and "--output" in one_line(wrong.stderr)
