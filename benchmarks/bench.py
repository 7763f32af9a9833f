"""Where a benchmark runs: its folder, its number of pairs, and a virtual environment for each program in it."""

from __future__ import annotations

import functools
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks import machines
from benchmarks.machines import Machine
from benchmarks.measure import Command, output
from tests.cli.program import ROOT

OURS = "boardops"
CHECK = ("check", "--profile", "quick", "--format", "json")


@dataclass(frozen=True)
class Bench:
    """`homes` holds the virtual environments, `folder` what is thrown away."""

    homes: Path
    folder: Path
    pairs: int

    def program(self, package: str, name: str = "") -> str:
        """A program of a package, which is installed where it is not yet. Raises NotMeasuredError."""
        return str(
            _install(self.homes / package, package, str(ROOT) if package == OURS else package) / (name or package)
        )

    def version(self, package: str) -> str:
        """A package and its version."""
        code = "import sys; from importlib.metadata import version; print(version(sys.argv[1]))"
        python = self.program(package, "python")
        return f"{package} {output(Command([python, '-c', code, package], machines.clean())).strip()}"

    def check(self, machine: Machine, *options: str, code: int = 0) -> Command:
        """`boardops check` on a stand-in machine."""
        return Command([self.program(OURS), *CHECK, "--root", str(machine.root), *options], machine.env, code)

    def machine(self, name: str, count: int = 8, change: machines.Change | None = None, **options: float) -> Machine:
        """A stand-in machine with a folder of its own."""
        return machines.build(self.folder / name, count, change, options.get("delay", 0), bool(options.get("traced")))

    @functools.cached_property
    def eight(self) -> Machine:
        """Eight healthy boards."""
        return self.machine("eight")


@functools.cache
def _install(home: Path, package: str, what: str) -> Path:
    """The programs of an environment that holds one package. One that was kept serves again; ours is made anew."""
    bin_ = home / "bin"
    if not (bin_ / "pip").exists():
        _run([sys.executable, "-m", "venv", str(home)])
    if package == OURS or not list(home.glob(f"lib/python*/site-packages/{package}-*.dist-info")):
        _run([str(bin_ / "pip"), "install", "--quiet", "--disable-pip-version-check", what])
    return bin_


def _run(argv: Sequence[str]) -> None:
    output(Command(argv, machines.clean()))
