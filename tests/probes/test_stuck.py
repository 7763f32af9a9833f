"""The probe for processes that hang in a driver, on a /proc that lies in a folder."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from boardops.facts import Missing
from boardops.readers import stuck
from tests.probes.program import started

HZ = os.sysconf("SC_CLK_TCK")


def process(
    root: Path,
    pid: int,
    name: str,
    *,
    state: str = "D",
    wchan: str = "0",
    started_at: float = 100.0,
    node: str | None = None,
    thread: int | None = None,
) -> None:
    """A process, or a further thread of one."""
    folder = root / "proc" / str(pid)
    task = folder / "task" / str(thread or pid)
    task.mkdir(parents=True)
    numbers = " ".join(["0"] * 18)
    (task / "stat").write_text(f"{pid} ({name}) {state} {numbers} {int(started_at * HZ)} 0 0\n")
    (task / "wchan").write_text(wchan)
    if node:
        (folder / "fd").mkdir()
        (folder / "fd" / "3").symlink_to(node)


def found(root: Path) -> object:
    (root / "proc").mkdir(exist_ok=True)
    (root / "proc" / "uptime").write_text("10000.00 1.0\n")
    done = subprocess.run(started("stuck", "--root", str(root)), capture_output=True, timeout=60, check=True)
    reading = stuck.read(done.stdout)
    assert reading.complete and reading.problems == ()
    return reading.host["stuck_processes"]


def test_nothing_hangs(tmp_path: Path) -> None:
    process(tmp_path, 10, "nvidia-smi", state="S")
    process(tmp_path, 11, "kworker/0:1", wchan="xfs_buf_lock")
    assert found(tmp_path) == ()


def test_who_hangs_is_known_by_name_function_or_device_node(tmp_path: Path) -> None:
    process(tmp_path, 30, "python (train)", node="/dev/nvidia3", started_at=9990)
    process(tmp_path, 20, "nvidia-smi", wchan="nv_lock_gpu", started_at=2800)
    process(tmp_path, 25, "cat", wchan="uvm_va_space_down")
    process(tmp_path, 26, "cat", node="/dev/null")
    assert found(tmp_path) == (
        "nvidia-smi (pid 20, started 2 hours ago, state D, in nv_lock_gpu)",
        "cat (pid 25, started 2 hours ago, state D, in uvm_va_space_down)",
        "python (train) (pid 30, started 10 seconds ago, state D)",
    )


def test_a_thread_that_hangs_is_seen_though_the_first_ended(tmp_path: Path) -> None:
    process(tmp_path, 40, "nvidia-persiste", state="Z")
    process(tmp_path, 40, "nvidia-persiste", thread=41)
    assert isinstance(told := found(tmp_path), tuple) and len(told) == 1


def test_many_are_counted(tmp_path: Path) -> None:
    for pid in range(100, 130):
        process(tmp_path, pid, "nvidia-smi")
    told = found(tmp_path)
    assert isinstance(told, tuple) and (len(told), told[-1]) == (21, "and 10 more")


def test_no_proc_is_said(tmp_path: Path) -> None:
    done = subprocess.run(started("stuck", "--root", str(tmp_path)), capture_output=True, timeout=60, check=True)
    value = stuck.read(done.stdout).host["stuck_processes"]
    assert isinstance(value, Missing) and value.kind == "error"
