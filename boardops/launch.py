"""Starts the programs that read a live machine, before anything else of a run is loaded.

Called by the command line; collect.py knows who understands what they print. Imports little, so that the programs are
under way while the rest is imported and the rules are read.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from boardops.worker import Program, Running, python_program

PROBES = f"{os.path.dirname(os.path.realpath(__file__))}/probes"


def command_lines(*, cpu: bool, root: str = "/") -> dict[str, list[str]]:
    """How each probe of this machine is started, by its name; the one that takes longest comes first.

    `root` stands in for the root of this machine's files, for tests.
    """
    below = [] if root == "/" else ["--root", root]
    return {
        "nvml": python_program(f"{PROBES}/nvml.py"),
        "host": [*python_program(f"{PROBES}/host.py"), *below, *(["--cpu"] if cpu else [])],
        "cuda": python_program(f"{PROBES}/cuda.py", bare=True),
        "pci": [*python_program(f"{PROBES}/pci.py", bare=True), *below],
    }


def launch(*, cpu: bool, deadline_seconds: float, root: str = "/") -> Running:
    """The probes of this machine; they run from `with` on, side by side."""
    return Running([program(name, argv, deadline_seconds) for name, argv in command_lines(cpu=cpu, root=root).items()])


def program(name: str, argv: Sequence[str], deadline_seconds: float) -> Program:
    """A probe as the worker runs it."""
    return Program(argv, deadline_seconds, name=f"the {name} probe")
