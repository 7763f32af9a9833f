"""Start a probe as the product does."""

from __future__ import annotations

import sysconfig

from boardops.worker import python_program
from tests.cli.program import ROOT

START = ROOT / "boardops" / "probes" / "start.py"


def started(name: str, *words: str) -> list[str]:
    """The argv of a probe."""
    return [*python_program(START), name, *words]


def nvml(*words: str) -> list[str]:
    """The argv of the NVML probe, with pynvml from this Python's folders."""
    return started("nvml", "--path", sysconfig.get_path("purelib"), *words)
