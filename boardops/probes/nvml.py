"""Print the facts of NVIDIA boards as JSON lines, read through NVML: `start.py nvml [--path FOLDER] [OPTIONS]`.

One initialisation of the driver, then a thread per board: ctypes lets go of the interpreter lock in a driver call, so
a board that hangs costs its own facts only. A board's facts are printed in groups as they are read; where the driver
holds one lock for all, what came before it hung is there. It changes nothing.

`--board ADDRESS` asks one board only; `--root DIR` stands for the root of the device nodes. After `--patience SECONDS`
it says which question each unfinished board has not answered, and goes on waiting. collect.py starts it,
readers/nvml.py reads its lines. It imports pynvml and the standard library only.
"""

from __future__ import annotations

import ctypes
import errno
import os
import threading
import time

from boardops.probes.later import import_later
from boardops.probes.lines import begin, end, missing, option, say

# pynvml imports it and never calls it; with all that it imports itself it costs a third of this probe's time.
import_later("ctypes.util", "find_library")
try:
    import pynvml as nvml
except ImportError as missing_library:
    nvml = None
    NO_PYNVML = str(missing_library)
else:
    from boardops.probes.nvml_facts import GROUPS, IDENTITY, Board, missing_of, pci_address, plain, read

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

HOST_FACTS = (
    "software.nvidia_driver_version",
    "software.cuda_driver_version",
    "boards_in_driver_count",
    "boards_listed_count",
)
HEAD_START_SECONDS = 0.002
CONTROL_NODE = "/dev/nvidiactl"
LIBRARY = "libnvidia-ml.so.1"
NO_LIBRARY = 12
UNREACHABLE = (15, 999)
"""Errors in place of a board's handle that nvidia-smi calls a board it cannot reach: lost, unknown error."""
MAY_BE_NODE = (4, 9, 999)
"""Errors of a start that a device node can be the cause of: no permission, driver not loaded, unknown."""


class Reader(threading.Thread):
    """Reads one board, by its number or its address, and prints its facts."""

    def __init__(self, which: int | str, driver: Any) -> None:
        super().__init__(daemon=True)
        self.which = which
        self.driver = driver
        self.board = Board(None)
        self.address = ""

    def run(self) -> None:
        """Identity first, then group by group; the last tells whether the board was lost on the way."""
        try:
            self.board.handle = self.handle()
            self.address = pci_address(self.board)
            index = self.which if isinstance(self.which, int) else self.board.ask("nvmlDeviceGetIndex")
        except nvml.NVMLError as error:
            self.refused(error)
            return
        known = {"vendor": "nvidia", "pci_address": self.address, "index": index}
        say({"board": {**known, "driver_version": self.driver, **read(IDENTITY, self.board)}})
        lost = False
        for group in GROUPS:
            values = read(group, self.board)
            lost = lost or any(isinstance(value, dict) and value.get("missing") == "lost" for value in values.values())
            say({"board": {**known, **values, **({"lost": lost} if group is GROUPS[-1] else {})}})

    def refused(self, error: Any) -> None:
        """Say of a board that the driver counts and does not let us reach why not; assemble.py finds its address."""
        gone = missing_of(error)
        say({"problem": f"the driver gives no board {self.title()}: {gone['why']}"})
        lost: Any = True if getattr(error, "value", None) in UNREACHABLE else gone
        known: Mapping[str, Any] = {"index": self.which} if isinstance(self.which, int) else {"pci_address": self.which}
        facts = [name for table in (IDENTITY, *GROUPS) for name in table]
        say({"board": {"vendor": "nvidia", **known, **dict.fromkeys(facts, gone), "lost": lost}})

    def handle(self) -> Any:
        self.board.asked = "nvmlDeviceGetHandleBy..."
        if isinstance(self.which, int):
            return nvml.nvmlDeviceGetHandleByIndex(self.which)
        return nvml.nvmlDeviceGetHandleByPciBusId(self.which.encode("ascii"))

    def title(self) -> str:
        return self.address or (f"number {self.which}" if isinstance(self.which, int) else self.which)


def or_missing(ask: Callable[[], Any]) -> Any:
    """What the driver says, or why not."""
    try:
        return ask()
    except nvml.NVMLError as error:
        return missing_of(error)


def cuda_version() -> str:
    number = nvml.nvmlSystemGetCudaDriverVersion_v2()
    return f"{number // 1000}.{number % 1000 // 10}"


def read_all(only: str | None, patience_seconds: float | None) -> None:
    """Print the facts of the host and of all boards, or of the one at the PCI address `only`."""
    driver = or_missing(lambda: plain(nvml.nvmlSystemGetDriverVersion()))
    count = or_missing(nvml.nvmlDeviceGetCount)
    say({"host": dict(zip(HOST_FACTS, (driver, or_missing(cuda_version), count, count), strict=True))})
    which: Sequence[int | str] = [only] if only else range(count if isinstance(count, int) else 0)
    readers = [Reader(one, driver) for one in which]
    for reader in readers:
        reader.start()
        # Boards of a quick driver are done by then, one after the other: side by side they would wait for each other.
        reader.join(HEAD_START_SECONDS)
    if patience_seconds is not None:
        wait(readers, patience_seconds)
    for reader in readers:
        reader.join()


def wait(readers: Sequence[Reader], seconds: float) -> None:
    """Wait for all boards, and say of each that is not done by then what it has not answered."""
    until = time.monotonic() + seconds
    for reader in readers:
        reader.join(max(0.0, until - time.monotonic()))
    for reader in readers:
        if reader.is_alive():
            say({"problem": f"board {reader.title()} did not answer {reader.board.asked} within {seconds:g} s"})


def not_started(error: Any, root: str) -> Mapping[str, str]:
    """Why the driver did not start. Where its device node cannot be opened, that is the cause, whatever NVML says."""
    gone = missing_of(error)
    if getattr(error, "value", None) == NO_LIBRARY:
        return without_library(gone)
    if getattr(error, "value", None) not in MAY_BE_NODE:
        return gone
    try:
        os.close(os.open(f"{root}{CONTROL_NODE}", os.O_RDWR | os.O_CLOEXEC | os.O_NONBLOCK))
    except OSError as closed:
        return why_closed(closed.errno or 0, gone, os.path.exists(f"{root}/proc/driver/nvidia/version"))
    return gone


def without_library(gone: Mapping[str, str]) -> Mapping[str, str]:
    """Why there is no library: pynvml says the same of one that is not here and of one that cannot be loaded.

    Both are `not-installed`, so that the vendor's tool stands in.
    """
    try:
        ctypes.CDLL(LIBRARY)
    except OSError as error:
        why = str(error)
        if not (why.startswith(LIBRARY) and why.endswith("No such file or directory")):
            return missing(gone["missing"], f"{LIBRARY} cannot be loaded: {why}")
    return gone


def why_closed(number: int, gone: Mapping[str, str], loaded: bool) -> Mapping[str, str]:
    """What an error of the operating system says of the driver's device node.

    `gone` is what NVML said; `loaded` tells whether the kernel has the driver's module.
    """
    if number == errno.EPERM:
        why = (
            "the control group of this container does not let it, as after a systemd reload; start the container again"
        )
        return missing("not-permitted", f"{CONTROL_NODE} may not be opened: {why}")
    if number == errno.EACCES:
        return missing("not-permitted", f"{CONTROL_NODE} may not be opened by this user")
    if number == errno.ENOENT and loaded:
        why = "this container was not given its boards or has lost them, as after a systemd reload; on a host run "
        return missing(
            "not-permitted", f"the kernel module is loaded and there is no {CONTROL_NODE} here: {why}nvidia-modprobe"
        )
    if number == errno.ENOENT:
        return missing(gone["missing"], f"{gone['why']}, and there is no {CONTROL_NODE} here")
    return gone


def fail(gone: Mapping[str, str]) -> None:
    """Nothing can be read: say why, once for each fact of the host."""
    say({"host": dict.fromkeys(HOST_FACTS, gone)})
    say({"problem": gone["why"]})


def main(words: Sequence[str]) -> None:
    """Read what can be read."""
    begin("nvml")
    patience = option(words, "--patience")
    if nvml is None:
        fail(missing("not-installed", f"pynvml (nvidia-ml-py) cannot be imported: {NO_PYNVML}"))
    else:
        try:
            nvml.nvmlInit()
        except nvml.NVMLError as error:
            fail(not_started(error, (option(words, "--root") or "").rstrip("/")))
        else:
            read_all(option(words, "--board"), float(patience) if patience else None)
    end("nvml")
    # Without nvmlShutdown, which can hang where everything else went well.
    os._exit(0)
