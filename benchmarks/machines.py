"""Stand-in machines to measure on: the driver, CUDA and the files of a machine with healthy boards (tests/standin)."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from benchmarks.measure import NotMeasuredError
from tests.cli.program import ROOT
from tests.live import HOST_FILES
from tests.standin import library
from tests.standin.cuda import Cuda
from tests.standin.nvml import Nvml
from tests.standin.sysfs import machine

STANDIN = ROOT / "tests" / "standin" / "nvml.c"
Change = Callable[[Nvml], Nvml]


@dataclass(frozen=True)
class Machine:
    """What a program needs to find a stand-in machine, and where the machine notes its calls."""

    env: Mapping[str, str]
    root: Path
    nvml: Nvml
    cuda: Cuda


def build(
    folder: Path, count: int = 8, change: Change | None = None, delay: float = 0, traced: bool = False
) -> Machine:
    """A machine below `folder`, each driver call taking `delay` seconds more.

    Calls are noted only where `traced`, since noting them costs time. Raises NotMeasuredError.
    """
    nvml, cuda = Nvml(folder, count=count), Cuda(folder, count=count)
    if delay:
        nvml, cuda = nvml.delay("nvml*", delay), cuda.delay("cu*", delay)
    nvml = change(nvml) if change else nvml
    try:
        env = _environment(folder, nvml, cuda)
    except pytest.skip.Exception as missing:
        raise NotMeasuredError(f"no stand-in driver: {missing}") from None
    if not traced:
        env = {key: value for key, value in env.items() if not key.endswith("_CALLS")}
    root = machine("nvidia", count).with_files(HOST_FILES).write(folder / "root")
    return Machine(env, root, nvml, cuda)


def clean() -> dict[str, str]:
    """This environment without what changes how Python programs run or print."""
    drop = {"NO_COLOR", "TERM", "COLUMNS", "VIRTUAL_ENV", "LD_LIBRARY_PATH"}
    return {key: value for key, value in os.environ.items() if key not in drop and not key.startswith("PYTHON")}


def _environment(folder: Path, nvml: Nvml, cuda: Cuda) -> dict[str, str]:
    env = clean()
    for stand_in in (nvml, cuda):
        env |= stand_in.environment(env)
    return {**env, "LD_LIBRARY_PATH": os.pathsep.join([str(_driver(folder)), env["LD_LIBRARY_PATH"]])}


def _driver(folder: Path) -> Path:
    """The stand-in with what the peers ask for besides. Its digest makes an older one that was kept stale."""
    digest = hashlib.sha256(STANDIN.read_bytes()).hexdigest()
    rest = Path(__file__).with_name("driver.c").read_text(encoding="utf-8")
    source = folder / "driver.c"
    source.write_text(f'/* {digest} */\n#include "{STANDIN}"\n{rest}', encoding="utf-8")
    return library.compiled(str(source), "libnvidia-ml.so.1", library.nvml_header())
