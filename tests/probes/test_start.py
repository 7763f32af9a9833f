"""The program that starts the probes: nothing beside them, and no variable, changes what Python they run in."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from boardops.worker import python_program
from tests.cli.program import ROOT
from tests.standin.cuda import Cuda

PROBES = ROOT / "boardops" / "probes"


@pytest.mark.parametrize("name", ["host", "pci", "cuda", "nvml"])
def test_files_beside_a_probe_are_not_imported(tmp_path: Path, name: str) -> None:
    copy = tmp_path / "boardops"
    shutil.copytree(PROBES, copy / "probes", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "boardops" / "__init__.py", copy)
    for folder in (tmp_path, copy, copy / "probes"):
        for module in ("os", "time", "ctypes", "threading", "resource", "re", "sitecustomize", "importlib"):
            (folder / f"{module}.py").write_text("raise SystemExit('wrong file')")
    done = subprocess.run(
        [*python_program(copy / "probes" / "start.py"), name],
        capture_output=True,
        cwd=tmp_path,
        env={"PYTHONPATH": str(tmp_path), "PYTHONSTARTUP": "x", **Cuda(tmp_path / "c").environment({})},
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.endswith(f'{{"end": "{name}"}}\n'.encode())


@pytest.mark.parametrize("kept", [True, False])
def test_compiled_modules_are_kept_where_python_keeps_its_own(kept: bool) -> None:
    code = "from boardops import worker; print(worker.python_program('x'))"
    settings = f"import sys; sys.dont_write_bytecode = {not kept}"
    done = subprocess.run([sys.executable, "-c", f"{settings}; {code}"], capture_output=True, cwd=ROOT, check=True)
    assert (b"'-B'" in done.stdout) is not kept
