"""Print which processes hang in a vendor's driver, as JSON lines: `start.py stuck [--root DIR]`.

A process that waits in the kernel in state D cannot be ended, not even by SIGKILL. It belongs to a driver by its name,
by the kernel function that it waits in, or by a device node that it holds open. What is read of a process are files
that answer even then; its command line is not among them, since reading that waits for the process's memory.

collect.py starts it after a source did not answer, readers/stuck.py reads its lines. It imports the standard library
only.
"""

from __future__ import annotations

import os

from boardops.probes.lines import begin, end, missing, names_in, option, say, text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

MAX_TOLD = 20
# Beginnings of names of processes and kernel threads, of kernel functions, and of device nodes.
NAMES = ("nvidia", "nv_queue", "nv-", "UVM", "dcgm", "npu-smi", "davinci", "hisi", "cnmon", "cambricon")
FUNCTIONS = ("nvidia", "nv_", "_nv0", "uvm_", "rm_", "os_acquire", "devdrv", "devmm", "hisi", "davinci", "cndrv", "cn_")
NODES = ("/dev/nvidia", "/dev/davinci", "/dev/devmm", "/dev/hisi", "/dev/cambricon")


def stuck(root: str) -> list[str]:
    """A sentence for each process that hangs in a driver. Raises OSError where there is no /proc."""
    uptime = float(text(f"{root}/proc/uptime").split()[0])
    found = []
    for name in os.listdir(f"{root}/proc"):
        if name.isdigit() and (told := of_process(f"{root}/proc/{name}", name, uptime)):
            found.append((int(name), told))
    return [told for _, told in sorted(found)]


def of_process(folder: str, pid: str, uptime: float) -> str:
    """What is to be said of one process; nothing where it does not hang, or hangs elsewhere."""
    for task in names_in(f"{folder}/task"):
        try:
            before, _, after = text(f"{folder}/task/{task}/stat").rpartition(")")
            words = after.split()
            if words[0] != "D":
                continue
            name, started = before.partition("(")[2], float(words[19]) / os.sysconf("SC_CLK_TCK")
        except (OSError, ValueError, IndexError):
            continue
        function = wait_channel(f"{folder}/task/{task}")
        if name.startswith(NAMES) or function.startswith(FUNCTIONS) or holds_node(folder):
            where = f", in {function}" if function else ""
            return f"{name} (pid {pid}, started {age(uptime - started)} ago, state D{where})"
    return ""


def wait_channel(folder: str) -> str:
    try:
        found = text(f"{folder}/wchan")
    except OSError:
        return ""
    return "" if found == "0" else found


def holds_node(folder: str) -> bool:
    """Whether a process holds a device node of a vendor open."""
    for handle in names_in(f"{folder}/fd"):
        try:
            if os.readlink(f"{folder}/fd/{handle}").startswith(NODES):
                return True
        except OSError:
            continue
    return False


def age(seconds: float) -> str:
    """A time span in its largest unit."""
    for unit, length in (("days", 86400), ("hours", 3600), ("minutes", 60)):
        if seconds >= 2 * length:
            return f"{int(seconds // length)} {unit}"
    return f"{max(0, int(seconds))} seconds"


def main(words: Sequence[str]) -> None:
    """Print all that hang; the first twenty with their names."""
    begin("stuck")
    try:
        found = stuck((option(words, "--root") or "").rstrip("/"))
    except (OSError, ValueError) as error:
        say({"host": {"stuck_processes": missing("error", f"/proc cannot be read: {error}")}})
    else:
        more = [f"and {len(found) - MAX_TOLD} more"] if len(found) > MAX_TOLD else []
        say({"host": {"stuck_processes": [*found[:MAX_TOLD], *more]}})
    end("stuck")
