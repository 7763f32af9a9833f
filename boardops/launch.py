"""Starts the programs that read a live machine, before anything else of a run is loaded.

Called by the command line; collect.py knows who understands what they print. Imports little, so that the programs are
under way while the rest is imported and the rules are read.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from boardops.budget import Budget
from boardops.worker import Program, Running, python_program

START = f"{os.path.dirname(os.path.realpath(__file__))}/probes/start.py"
ALARM_SECONDS = 120
"""How much longer than the run may take, at most, a probe lives that nobody ends any more."""
FIRST = ("nvml", "host", "cuda", "pci", "kernel_log")
"""The probes that every run starts, the longest first; the others are asked because of what these say."""


def command_lines(*, cpu: bool, budget: Budget, root: str = "/") -> dict[str, list[str]]:
    """How each probe of this machine is started, by its name. `root` stands in for the root of its files, for tests."""
    below = [] if root == "/" else ["--root", root]
    torch = _found("torch/version.py")
    library = _found("pynvml.py")
    words = {
        "host": [*below, *(["--torch", f"{torch}/torch/version.py"] if torch else []), *(["--cpu"] if cpu else [])],
        "nvml": [*(["--path", library] if library else []), "--patience", f"{budget.patience_seconds:g}", *below],
        "cuda": [],
        "pci": below,
        "kernel_log": below,
        "stuck": below,
    }
    python = python_program(START)
    alarm = ["--alarm", str(int(budget.total_seconds) + ALARM_SECONDS)]
    return {name: [*python, name, *alarm, *more] for name, more in words.items()}


def _found(name: str) -> str | None:
    """The module folder of this Python that has a file."""
    return next((folder for folder in sys.path if folder and os.path.isfile(f"{folder}/{name}")), None)


def launch(*, cpu: bool, budget: Budget, root: str = "/") -> Running:
    """The probes of this machine; they run from `with` on, side by side."""
    argv = command_lines(cpu=cpu, budget=budget, root=root)
    return Running([program(name, argv[name], budget.first_seconds) for name in FIRST])


def program(name: str, argv: Sequence[str], deadline_seconds: float) -> Program:
    """A probe as the worker runs it."""
    return Program(argv, deadline_seconds, name=f"the {name} probe")
