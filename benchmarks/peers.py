"""Compare the cost of a passive verdict with that of looking at the boards: `python -m benchmarks.peers`.

Eight stand-in boards (tests/standin). Each peer lives in a virtual environment of its own, made in a temporary folder.
Pairs run interleaved; an A/A pair first shows what the machine can tell apart. Printed are medians of ratios, CPU time
before wall time, since on a busy machine only CPU ratios hold. Nothing here is a test.
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.cli.program import ROOT
from tests.standin.cuda import Cuda
from tests.standin.nvml import Nvml
from tests.standin.sysfs import machine

PEERS = {"nvitop": ["nvitop", "-1"], "gpustat": ["gpustat", "--json"]}


def cost(argv: Sequence[str], env: Mapping[str, str]) -> tuple[float, float]:
    """CPU seconds (with all children) and wall seconds of one run."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    started = time.monotonic()
    subprocess.run(argv, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    wall = time.monotonic() - started
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, wall


def compare(
    ours: Sequence[str], theirs: Sequence[str], ours_env: Mapping[str, str], theirs_env: Mapping[str, str], pairs: int
) -> str:
    """Median ratios of interleaved pairs, ours over theirs."""
    cost(ours, ours_env)
    cost(theirs, theirs_env)
    cpu, wall = [], []
    for _ in range(pairs):
        a, b = cost(ours, ours_env), cost(theirs, theirs_env)
        cpu.append(a[0] / b[0])
        wall.append(a[1] / b[1])
    return f"CPU x{statistics.median(cpu):.2f}  wall x{statistics.median(wall):.2f}"


def peer(folder: Path, name: str) -> Path:
    """A virtual environment with one peer."""
    home = folder / name
    subprocess.run([sys.executable, "-m", "venv", home], check=True)
    subprocess.run([home / "bin" / "pip", "install", "--quiet", name], check=True, stderr=subprocess.DEVNULL)
    return home / "bin"


def standin(folder: Path, count: int, delay: float = 0.0) -> tuple[dict[str, str], Path]:
    """Environment and root of a machine with boards, each driver call taking `delay` seconds."""
    root = machine("nvidia", count).write(folder / f"root-{count}-{delay}")
    driver = Nvml(folder / f"driver-{count}-{delay}", count=count)
    if delay:
        driver = driver.delay("nvmlDevice*", delay)
    env = {**os.environ, **driver.environment()}
    return {**env, **Cuda(folder / f"driver-{count}-{delay}", count=count).environment(env)}, root


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=9)
    pairs = parser.parse_args().pairs
    program = str(Path(sys.executable).parent / "boardops")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        env, root = standin(folder, 8)
        check = [program, "check", "--profile", "quick", "--format", "json", "--root", str(root)]
        print(f"boardops check against itself (A/A)   {compare(check, check, env, env, pairs)}")
        for peer_name, argv in PEERS.items():
            theirs = [str(peer(folder, peer_name) / argv[0]), *argv[1:]]
            print(f"boardops check / {' '.join(argv):<20} {compare(check, theirs, env, env, pairs)}")
            if peer_name == "gpustat":
                version = [theirs[0], "--version"]
                print(f"boardops --help / gpustat --version  {compare([program, '--help'], version, env, env, pairs)}")
        one, root_one = standin(folder, 1)
        many, root_many = standin(folder, 16)
        base = check[:-1]
        more = compare([*base, str(root_many)], [*base, str(root_one)], many, one, pairs)
        print(f"16 boards / 1 board                   {more}")
        slow_one, slow_root_one = standin(folder, 1, 0.001)
        slow_8, slow_root_8 = standin(folder, 8, 0.001)
        slow = compare([*base, str(slow_root_8)], [*base, str(slow_root_one)], slow_8, slow_one, pairs)
        print(f"8 boards / 1 board, 1 ms a call       {slow}")
        largest = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
        print(f"largest child process                 {largest:.0f} MiB (peers included)")


if __name__ == "__main__":
    os.chdir(ROOT)
    main()
