"""A program that not even SIGKILL ends: one that writes to a frozen file system, in state D for as long as we like."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faults.rows import tool
from tests.live import findings, standin


@pytest.fixture
def frozen(tmp_path: Path) -> Iterator[Path]:
    """A file system on which every write waits in the kernel."""
    missing = [name for name in ("mkfs.ext4", "mount", "umount", "fsfreeze") if shutil.which(name) is None]
    if os.geteuid() != 0 or missing:
        pytest.skip(f"freezing a file system needs root and {', '.join(missing) or 'nothing else'}")
    image, folder = tmp_path / "image", tmp_path / "frozen"
    with image.open("wb") as file:
        file.truncate(16 * 2**20)
    folder.mkdir()
    subprocess.run(["mkfs.ext4", "-q", str(image)], check=True)
    if subprocess.run(["mount", "-o", "loop", str(image), str(folder)], capture_output=True, check=False).returncode:
        pytest.skip("no file system may be mounted here")
    try:
        subprocess.run(["fsfreeze", "--freeze", str(folder)], check=True)
        yield folder
    finally:
        subprocess.run(["fsfreeze", "--unfreeze", str(folder)], capture_output=True, check=False)
        for _ in range(50):
            if subprocess.run(["umount", str(folder)], capture_output=True, check=False).returncode == 0:
                break
            time.sleep(0.1)


@pytest.mark.parametrize("count", [1, 8])
def test_a_driver_that_cannot_be_ended_is_the_finding(tmp_path: Path, frozen: Path, count: int) -> None:
    machine = standin(tmp_path, count)
    tool(f"echo x > {frozen}/file")(machine, count)
    begun = time.monotonic()
    code, report, _ = machine.check("--deadline", "1")
    assert time.monotonic() - begun < 20
    assert code == 2 and len(report["boards"]) == count
    found = findings(report)["driver.hung"]
    assert found["verdict"] == "fail" and "the nvidia-smi probe (state D" in found["reason"]
    assert found["remedy"]["action"] == "reboot-host" and f"still shows {count} boards" in found["reason"]
    hung = next(entry for entry in report["evidence"] if entry["source"] == "nvidia-smi")
    assert hung["outcome"] == "hung" and hung["seconds"] < 1.5
    unseen = findings(report, 0)["temperature.core"]
    assert (unseen["verdict"], unseen["missing"], unseen["caused_by"]) == ("unknown", "timed-out", "driver.hung")
    assert findings(report, 0)["pcie.config"]["verdict"] == "pass", "what needs no driver is judged"
