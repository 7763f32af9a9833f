"""The processes on an NVIDIA board, with what /proc knows of them. nvml_facts.py calls this."""

from __future__ import annotations

import os

import pynvml as nvml

from boardops.probes.lines import missing, text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from boardops.probes.lines import Values
    from boardops.probes.nvml_facts import Board

MAX_NAME = 512
KINDS = {
    "compute": "nvmlDeviceGetComputeRunningProcesses",
    "graphics": "nvmlDeviceGetGraphicsRunningProcesses",
}


def processes(board: Board) -> list[Values]:
    """All processes of a board, those that compute and draw once."""
    found: dict[int, Values] = {}
    for kind, name in KINDS.items():
        try:
            entries = board.ask(name)
        except nvml.NVMLError_NotSupported:
            continue
        for entry in entries:
            old = found.get(entry.pid)
            found[entry.pid] = process(entry, "both" if old and old["kind"] != kind else kind)
    return list(found.values())


def process(entry: Any, kind: str) -> Values:
    used = entry.usedGpuMemory
    folder = f"/proc/{entry.pid}"
    name = or_missing(lambda: text(f"{folder}/cmdline").split("\0")[0][:MAX_NAME])
    return {
        "pid": entry.pid,
        "kind": kind,
        "used_bytes": missing("not-supported", "the driver does not tell") if used is None else used,
        "name": name if isinstance(name, str) else "",
        "owner": or_missing(lambda: owner(folder)),
        "control_group": or_missing(lambda: text(f"{folder}/cgroup").rpartition(":")[2]),
    }


def or_missing(read: Callable[[], str]) -> Any:
    """A text about a process, or what is missing: it may have ended, or belong to another container."""
    try:
        return read()
    except PermissionError:
        return missing("not-permitted", "this user may not look at the process")
    except OSError:
        return missing("error", "the process ended, or runs where it cannot be seen from here")


def owner(folder: str) -> str:
    """The user of a process, by name where the system knows one."""
    import pwd

    number = os.stat(folder).st_uid
    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return str(number)
