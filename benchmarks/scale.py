"""How cost grows with boards and with slow calls, and what one run starts, reads and holds."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any

from benchmarks.bench import Bench
from benchmarks.measure import Command, NotMeasuredError, compare, output, peak_bytes
from benchmarks.table import Row, ratio_row
from boardops.readers import nvml, pci

MEGABYTE = 1_000_000
PEAK_RUNS = 3
STARTS = ("nvmlInit", "nvmlInit_v2", "nvmlInitWithFlags")


def boards(bench: Bench) -> list[Row]:
    """Sixteen boards against one."""
    ratio = compare(bench.check(bench.machine("sixteen", 16)), bench.check(bench.machine("one", 1)), bench.pairs)
    return [ratio_row("16 boards", "1 board", ratio, cpu=1.8)]


def slow_calls(bench: Bench) -> list[Row]:
    """Eight boards against one where each call of the driver takes a millisecond more."""
    eight, one = (bench.check(bench.machine(f"slow-{count}", count, delay=0.001)) for count in (8, 1))
    return [ratio_row("8 boards, 1 ms a call", "1 board, 1 ms a call", compare(eight, one, bench.pairs), wall=1.5)]


def memory(bench: Bench) -> list[Row]:
    """The largest process of a run with eight boards."""
    largest = max(peak_bytes(bench.check(bench.eight)) for _ in range(PEAK_RUNS)) / MEGABYTE
    what = "largest process of a run, 8 boards"
    return [Row(what, "", figure=f"{largest:.1f} MB", target="at most 40 MB", met=largest <= 40)]


def driver_starts(bench: Bench) -> list[Row]:
    """How often one run starts the driver."""
    machine = bench.machine("traced", traced=True)
    output(bench.check(machine))
    calls = machine.nvml.calls()
    starts = sum(calls.get(name, 0) for name in STARTS)
    figure = f"{starts} of {sum(calls.values())} calls"
    return [Row("starts of the driver in a run", "", figure=figure, target="1", met=starts == 1)]


def vendor_tool(bench: Bench) -> list[Row]:
    """Whether nvidia-smi is started where NVML answers. Where it does not, it must be, or the measure sees nothing."""
    folder = bench.folder / "tool"
    folder.mkdir()
    mark, tool = folder / "started", folder / "nvidia-smi"
    tool.write_text(f"#!/bin/sh\necho started >> '{mark}'\nexit 9\n", encoding="utf-8")
    tool.chmod(0o755)
    with_tool = {"PATH": os.pathsep.join([str(folder), os.environ.get("PATH", os.defpath)])}
    check = bench.check(bench.eight)
    output(Command(check.argv, {**check.env, **with_tool}))
    starts = len(mark.read_text().splitlines()) if mark.exists() else 0
    output(Command(check.argv, {**check.env, **with_tool, "LD_LIBRARY_PATH": str(folder)}, code=3))
    if not mark.exists():
        raise NotMeasuredError("nvidia-smi is not started even where NVML is missing, so its starts cannot be seen")
    what = "starts of nvidia-smi where NVML answers"
    return [Row(what, "", figure=str(starts), target="0", met=starts == 0)]


def fields(bench: Bench) -> list[Row]:
    """How many facts of each board NVML and the PCI bus gave."""
    report = json.loads(output(bench.check(bench.eight)))
    names = {*nvml.BOARD_FILLS, *pci.BOARD_FILLS}
    read = min(sum(_has(board["facts"], name) for name in names) for board in report["boards"])
    return [Row("fields read per board", "", figure=f"{read} of {len(names)}", target="at least 40", met=read >= 40)]


def _has(facts: Mapping[str, Any], name: str) -> bool:
    value: Any = facts
    for word in name.split("."):
        value = value.get(word) if isinstance(value, dict) else None
    return value is not None and not (isinstance(value, dict) and "missing" in value)


PARTS = (boards, slow_calls, memory, driver_starts, vendor_tool, fields)
