"""Read the lines of probes/host.py: the host's own facts, and with `--cpu` the processor as a stand-in board.

>>> reading = read(b'''{"probe": "host", "read_at": "2026-01-31T12:00:00Z"}
... {"host": {"kernel": "6.8"}}
... {"end": "host"}''')
>>> reading.host, reading.read_at, reading.complete
({'kernel': '6.8'}, '2026-01-31T12:00:00Z', True)
"""

from __future__ import annotations

from msgspec.structs import replace

from boardops.facts import Missing, Value, Values, known
from boardops.readers.probe_lines import reading_of
from boardops.readers.reading import Reading

KIND = "host-probe"
TITLE = "host probe"
PROBE = "host"

FILLS: tuple[str, ...] = (
    "hostname",
    "kernel",
    "os",
    "boot_id",
    "uptime_seconds",
    "container",
    "memory.total_bytes",
    "memory.available_bytes",
    "memory.swap_total_bytes",
    "memory.swap_used_bytes",
    "shm.total_bytes",
    "shm.free_bytes",
    "cpu.model",
    "cpu.core_count",
    "cpu.thread_count",
    "cpu.load_1m_ratio",
    "numa_node_count",
    "disk.root_total_bytes",
    "disk.root_free_bytes",
    "disk.root_used_ratio",
    "limits.memlock_bytes",
    "limits.open_file_count",
    "software.cuda_toolkit_version",
    "software.torch_version",
    "software.torch_cuda_version",
)
"""Facts of the host that the probe gives, without their first word."""

BOARD_FILLS: tuple[str, ...] = (
    "vendor",
    "index",
    "model",
    "architecture",
    "memory.total_bytes",
    "memory.used_bytes",
    "memory.free_bytes",
    "temperature.core_celsius",
    "utilization.compute_ratio",
)
"""Facts of the stand-in board that the probe gives, without their first word."""

# Facts that other stations give for any board; all else an accelerator has and a processor has not.
_GIVEN_LATER = ("memory.used_ratio", "spec.", "check.")
_NO_SUCH_THING = Missing("not-supported", "the stand-in board, a processor, has no such thing")


def read(data: bytes) -> Reading:
    """The facts in the probe's output."""
    reading = reading_of(data, kind=KIND, title=TITLE, probe=PROBE)
    return replace(reading, boards=tuple({**_absent(board), **board} for board in reading.boards))


def _absent(board: Values) -> dict[str, Value]:
    if board.get("vendor") != "cpu":
        return {}
    names = (name.partition(".")[2] for name in known() if name.startswith("board."))
    return {name: _NO_SUCH_THING for name in names if name not in BOARD_FILLS and not name.startswith(_GIVEN_LATER)}
