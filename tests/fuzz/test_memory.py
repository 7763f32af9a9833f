"""What is large or deep costs no more than 200 MB; each in a process of its own with that limit on top of its start."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.program import ROOT

CODE = """
import resource, sys
import boardops.cli.run, boardops.cli.files, boardops.rules
from boardops.cli.request import Request, now
from boardops.cli.run import perform
from boardops.errors import BoardopsError
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + 200 * 10**6,) * 2)
try:
    perform(Request(files=(sys.argv[1],)), now)
except BoardopsError as error:
    print(str(error)[:300])
"""


@pytest.mark.parametrize(
    ("start", "piece", "count"),
    [
        (b"<?xml version='1.0'?><nvidia_smi_log>", b"<gpu id='x'>" + b"<a>" * 20, 20_000),
        (b"<?xml version='1.0'?><nvidia_smi_log><timestamp>", b"x" * 1024, 20_000),
        (b"==============NVSMI LOG==============\nGPU 00000000:18:00.0\n", b"    Key : value\n" * 64, 10_000),
        (b"name, pci.bus_id, temperature.gpu\n", b"x, 00000000:18:00.0, 34\n" * 64, 10_000),
        (b'{"schema":"boardops.record/1","answers":[', b'{"a":[' * 100, 30_000),
        (b"", b"word " * 200, 20_000),
    ],
    ids=["deep-xml", "long-xml", "text", "csv", "record", "words"],
)
def test_twenty_megabytes_of_one_thing(tmp_path: Path, start: bytes, piece: bytes, count: int) -> None:
    path = tmp_path / "sent"
    with path.open("wb") as file:
        file.write(start)
        for _ in range(min(count, 20 * 2**20 // len(piece))):
            file.write(piece)
    done = subprocess.run(
        [sys.executable, "-c", CODE, str(path)], capture_output=True, text=True, cwd=ROOT, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr[-800:]
    assert len(done.stdout.splitlines()) <= 1
