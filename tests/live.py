"""A stand-in machine for the whole program: real pynvml and real probes, over stand-ins of the driver and of sysfs."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.cli.program import boardops
from tests.standin.cuda import Cuda
from tests.standin.nvml import Nvml
from tests.standin.sysfs import Machine, machine

Report = dict[str, Any]


@dataclass
class Standin:
    """A machine: its files, its driver library and its CUDA library."""

    folder: Path
    files: Machine
    nvml: Nvml | None
    cuda: Cuda | None
    env: dict[str, str] = field(default_factory=dict)
    """Further variables of its processes."""

    def check(self, *options: str, env: Mapping[str, str] | None = None) -> tuple[int, Report, str]:
        """Exit code, JSON report and standard error of a live run. Its record gives the same, always."""
        root = self.folder / "root"
        if not root.exists():
            self.files.write(root)
        environment: dict[str, str] = dict(os.environ)
        # An empty folder first: nothing of this machine's own driver may be found.
        environment["LD_LIBRARY_PATH"] = str(self.folder)
        for library in (self.nvml, self.cuda):
            if library is not None:
                environment.update(library.environment(environment))
        environment.update({**self.env, **(env or {})})
        record, texts = self.folder / "run.record", [self.folder / name for name in ("live.txt", "again.txt")]
        judged = ("check", "--format", "json", *baseline_of(options))
        live = ("--root", str(root), "--record", str(record), "-o", str(texts[0]), *options)
        done = boardops(*judged, *live, env=environment)
        assert done.stdout, done.stderr
        again = boardops(*judged, "--from", str(record), "-o", str(texts[1]))
        assert (again.returncode, again.stderr) == (done.returncode, done.stderr)
        assert without_clock(again.stdout) == without_clock(done.stdout)
        assert texts[0].read_text(encoding="utf-8") == texts[1].read_text(encoding="utf-8")
        return done.returncode, json.loads(done.stdout), done.stderr


def baseline_of(options: Sequence[str]) -> tuple[str, ...]:
    """`--baseline FILE`, which goes with a replay as well; those who ask for it give it last."""
    return tuple(options[-2:]) if "--baseline" in options[-2:] else ()


def without_clock(text: str) -> Report:
    report: Report = json.loads(text)
    return {key: value for key, value in report.items() if key not in {"started_at", "seconds"}}


HOST_FILES = {
    "proc/sys/kernel/osrelease": "6.8.0-41-generic",
    "proc/sys/kernel/hostname": "gpu-node-01",
    "proc/1/cgroup": "0::/init.scope",
    "dev/shm/empty": "",
    "dev/kmsg": "6,0,0,-;Linux version 6.8.0-41-generic\n6,1,1200000,-;NVRM: loading NVIDIA UNIX Open Kernel Module\n",
}


def standin(tmp_path: Path, count: int = 8) -> Standin:
    return Standin(
        tmp_path,
        machine("nvidia", count).with_files(HOST_FILES),
        Nvml(tmp_path / "driver", count=count),
        Cuda(tmp_path / "driver", count=count),
    )


def findings(report: Report, board: int | None = None) -> dict[str, Report]:
    subject = report["host"] if board is None else report["boards"][board]
    return {finding["rule"]: finding for finding in subject["findings"]}


def outcomes(report: Report) -> dict[str, str]:
    return {entry["source"]: entry["outcome"] for entry in report["evidence"]}
