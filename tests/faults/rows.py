"""The rows of the fault matrix: what a driver or its tool does wrong, and what the report must then say.

`test_matrix` runs each row with 1, 8 and 16 boards; `table` makes the page of the documentation from them. A row is
data: later vendors add their tools' rows beside those of nvidia-smi.
"""

from __future__ import annotations

import signal
from collections.abc import Callable
from dataclasses import dataclass

from tests.live import Standin
from tests.smi_xml import H100, compose, with_tags
from tests.standin.addresses import pci_address
from tests.standin.behaviour import Refused
from tests.standin.nvml import Nvml

READY, DEGRADED, NOT_READY, UNKNOWN = "ready", "degraded", "not-ready", "unknown"
CODES = {READY: 0, DEGRADED: 1, NOT_READY: 2, UNKNOWN: 3}
DEADLINE_SECONDS = 1.5

Change = Callable[[Standin, int], None]
Expected = Callable[[int, int], str]
"""The readiness of a board by its number, and of how many."""


@dataclass(frozen=True)
class Fault:
    """One row."""

    name: str
    change: Change
    """What goes wrong on a healthy machine with so many boards."""
    expected: Expected
    words: tuple[str, ...]
    """What the report must say; each in a finding's reason, a remedy, or the sentence on a source."""
    action: str
    """The remedy that some finding names; empty where there is nothing to do."""
    kept: str
    """What is still in the report, for the documentation."""
    hangs: bool = False
    """Whether it takes until the deadline."""


def every(readiness: str) -> Expected:
    return lambda board, count: readiness


def last(readiness: str, others: str = READY) -> Expected:
    """The last board is so, the others are not concerned."""
    return lambda board, count: readiness if board == count - 1 else others


def driver(change: Callable[[Nvml, int], Nvml]) -> Change:
    """Another behaviour of the driver's library; the function is given the number of boards."""

    def apply(machine: Standin, count: int) -> None:
        assert machine.nvml is not None
        machine.nvml = change(machine.nvml, count)

    return apply


def no_library(machine: Standin, count: int) -> None:
    machine.nvml = machine.cuda = None
    machine.env["PATH"] = str(machine.folder)


def two_versions(machine: Standin, count: int) -> None:
    machine.files = machine.files.driver("570.148.08")


def no_boards_in_driver(machine: Standin, count: int) -> None:
    machine.nvml = Nvml(machine.folder / "driver", count=0)


def more_in_driver(machine: Standin, count: int) -> None:
    machine.files = machine.files.missing(count - 1)


def container(machine: Standin, count: int) -> None:
    """A container that was given all boards but the last."""
    machine.files = machine.files.no_node(count - 1).with_files({"run/.containerenv": ""})
    machine.nvml = Nvml(machine.folder / "driver", count=count - 1)


def lost_its_devices(machine: Standin, count: int) -> None:
    """A container without the nodes of the boards that it was given, as after a systemd reload."""
    for number in range(count):
        machine.files = machine.files.no_node(number)
    machine.files = machine.files.with_files({"run/.containerenv": "", "dev/nvidiactl": None})
    assert machine.nvml is not None
    machine.nvml = machine.nvml.error("nvmlInit*", 999)


def renumbered(machine: Standin, count: int) -> None:
    """Boards change their numbers between the first reading and the second, which a crash of one of them causes."""
    assert machine.nvml is not None
    machine.nvml = machine.nvml.renumber().crash("nvmlDeviceGetEccMode", board=count - 1)


def tool(script: str) -> Change:
    """The vendor's tool in place of the library; `XML` in the script is a file with what it prints of all boards."""

    def apply(machine: Standin, count: int) -> None:
        machine.nvml = None
        folder = machine.folder / "bin"
        folder.mkdir()
        boards = [with_tags(H100, {"pci/pci_bus_id": f"0000{pci_address(n)}".upper()}) for n in range(count)]
        (machine.folder / "smi.xml").write_text(compose(boards), encoding="utf-8")
        program = folder / "nvidia-smi"
        program.write_text(f"#!/bin/sh\n{script.replace('XML', str(machine.folder / 'smi.xml'))}\n", encoding="utf-8")
        program.chmod(0o755)
        machine.env["PATH"] = f"{folder}:/usr/bin:/bin"

    return apply


WHOLE = "everything"
BUS = "the PCI bus and the host"
OTHERS = "all other boards; of this one what it had answered, and the PCI bus"

DRIVER_ROWS = (
    Fault(
        "the driver hangs when it starts",
        driver(lambda nvml, _: nvml.hang("nvmlInit*")),
        every(UNKNOWN),
        ("the nvml probe did not end within",),
        "watch",
        BUS,
        hangs=True,
    ),
    Fault(
        "one board hangs at one question",
        driver(lambda nvml, count: nvml.hang("nvmlDeviceGetEccMode", board=count - 1)),
        last(UNKNOWN),
        ("did not answer nvmlDeviceGetEccMode within",),
        "watch",
        OTHERS,
        hangs=True,
    ),
    Fault(
        "every second board hangs",
        driver(lambda nvml, count: _on_each(nvml, range(0, count, 2))),
        lambda board, count: UNKNOWN if board % 2 == 0 else READY,
        ("did not answer nvmlDeviceGetUtilizationRates within",),
        "watch",
        OTHERS,
        hangs=True,
    ),
    Fault(
        "one board hangs, and the driver has one lock for all",
        driver(lambda nvml, _: nvml.lock().hang("nvmlDeviceGetUtilizationRates", board=0)),
        every(UNKNOWN),
        ("did not answer nvmlDeviceGetUtilizationRates within",),
        "watch",
        BUS,
        hangs=True,
    ),
    Fault(
        "the driver crashes when it starts",
        driver(lambda nvml, _: nvml.crash("nvmlInit*", by=signal.SIGSEGV)),
        every(UNKNOWN),
        ("the nvml probe was ended by SIGSEGV",),
        "watch",
        BUS,
    ),
    Fault(
        "the driver crashes at one question to one board",
        driver(lambda nvml, count: nvml.crash("nvmlDeviceGetEccMode", board=count - 1, by=signal.SIGABRT)),
        last(UNKNOWN),
        ("the nvml probe was ended by SIGABRT",),
        "watch",
        OTHERS,
    ),
    Fault(
        "boards change their numbers between two readings",
        renumbered,
        last(UNKNOWN),
        ("the nvml probe was ended by SIGSEGV",),
        "watch",
        OTHERS,
    ),
    Fault(
        "this user may not start the driver",
        driver(lambda nvml, _: nvml.error("nvmlInit*", 4)),
        every(UNKNOWN),
        ("this user may not read it",),
        "grant-access",
        BUS,
    ),
    Fault(
        "this user may not read one value",
        driver(lambda nvml, _: nvml.error("nvmlDeviceGetTotalEccErrors", 4)),
        every(UNKNOWN),
        ("this user may not read it",),
        "grant-access",
        "all other values",
    ),
    Fault(
        "library and kernel module differ",
        driver(lambda nvml, _: nvml.error("nvmlInit*", 18)),
        every(UNKNOWN),
        ("library and kernel module of the driver are of different versions",),
        "watch",
        BUS,
    ),
    Fault(
        "library and kernel module differ, and both still answer",
        two_versions,
        every(NOT_READY),
        ("the library is of version 580.95.05, the kernel module of 570.148.08",),
        "reboot-host",
        WHOLE,
    ),
    Fault(
        "the library is missing",
        no_library,
        every(UNKNOWN),
        ("libnvidia-ml.so.1 is not here",),
        "install-tool",
        BUS,
    ),
    Fault(
        "a container was not given the last board",
        container,
        lambda board, count: UNKNOWN if board == count - 1 else READY,
        ("was not given the board: its device node is not here",),
        "",
        "all boards of the container; the other is left alone",
    ),
    Fault(
        "a container lost its devices",
        lost_its_devices,
        every(UNKNOWN),
        ("was not given its boards or has lost them, as after a systemd reload",),
        "grant-access",
        BUS,
    ),
    Fault(
        "the driver is loaded and has no board",
        no_boards_in_driver,
        every(NOT_READY),
        ("the PCI bus shows the board, its driver does not have it",),
        "reboot-host",
        BUS,
    ),
    Fault(
        "one board was lost before the run",
        driver(lambda nvml, count: nvml.lost(count - 1)),
        last(NOT_READY),
        ("the board no longer answers its driver",),
        "reboot-host",
        OTHERS,
    ),
    Fault(
        "one board is lost during the run",
        driver(lambda nvml, count: nvml.lost(count - 1, after_calls=20)),
        last(NOT_READY),
        ("the board no longer answers its driver",),
        "reboot-host",
        OTHERS,
    ),
    Fault(
        "one board is lost after the run",
        driver(lambda nvml, count: nvml.lost(count - 1, after_calls=10_000)),
        every(READY),
        (),
        "",
        WHOLE,
    ),
    Fault(
        "one value of one board is an error",
        driver(lambda nvml, count: nvml.board(count - 1, temperature=Refused(999))),
        last(UNKNOWN),
        ("the driver answered with an unknown error",),
        "watch",
        OTHERS,
    ),
    Fault(
        "the driver has a board that the bus does not show",
        more_in_driver,
        lambda board, count: READY if board < count - 1 else NOT_READY if count > 1 else UNKNOWN,
        ("the PCI bus",),
        "",
        OTHERS,
    ),
)
TOOL_ROWS = (
    Fault("nvidia-smi prints without end", tool("exec yes"), every(UNKNOWN), ("printed more than",), "watch", BUS),
    Fault("nvidia-smi prints nothing", tool("exit 0"), every(UNKNOWN), ("nvidia-smi printed nothing",), "watch", BUS),
    Fault(
        "nvidia-smi prints half a table",
        tool("head -c $(($(wc -c < XML) - 900)) XML"),
        every(UNKNOWN),
        ("the file stops in line",),
        "none",
        "the boards before the cut",
    ),
    Fault(
        "nvidia-smi prints garbage",
        tool("head -c 5000 /dev/urandom"),
        every(UNKNOWN),
        ("nvidia-smi printed no XML but",),
        "watch",
        BUS,
    ),
    Fault(
        "nvidia-smi ends well with an error text",
        tool("echo 'NVIDIA-SMI has failed because it could not communicate with the NVIDIA driver.'"),
        every(UNKNOWN),
        ("could not communicate with the NVIDIA driver",),
        "watch",
        BUS,
    ),
    Fault(
        "nvidia-smi ends with 1 and prints good data",
        tool("cat XML; exit 1"),
        every(READY),
        ("ended with exit code 1",),
        "",
        WHOLE,
    ),
    Fault(
        "nvidia-smi ends with 255",
        tool("echo oh >&2; exit 255"),
        every(UNKNOWN),
        ("ended with exit code 255; its last words: oh",),
        "watch",
        BUS,
    ),
    Fault(
        "a child of nvidia-smi keeps its output open",
        tool("sleep 300 & cat XML"),
        every(READY),
        (),
        "",
        WHOLE,
    ),
    Fault(
        "nvidia-smi hangs",
        tool("sleep 300"),
        every(UNKNOWN),
        ("the nvidia-smi probe did not end within",),
        "watch",
        BUS,
        hangs=True,
    ),
    Fault(
        "nvidia-smi hangs and ignores SIGTERM",
        tool("trap '' TERM INT HUP; while :; do sleep 1; done"),
        every(UNKNOWN),
        ("the nvidia-smi probe did not end within",),
        "watch",
        BUS,
        hangs=True,
    ),
    Fault(
        "nvidia-smi prints all and does not end",
        tool("cat XML; exec sleep 300"),
        every(READY),
        ("the nvidia-smi probe did not end within",),
        "",
        WHOLE,
        hangs=True,
    ),
)
ROWS = (*DRIVER_ROWS, *TOOL_ROWS)


def _on_each(nvml: Nvml, boards: range) -> Nvml:
    for board in boards:
        nvml = nvml.hang("nvmlDeviceGetUtilizationRates", board=board)
    return nvml
