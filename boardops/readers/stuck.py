"""Read the lines of probes/stuck.py: which processes hang in a vendor's driver.

>>> reading = read(b'''{"probe": "stuck"}
... {"host": {"stuck_processes": ["nvidia-smi (pid 4242, started 2 hours ago, state D, in nv_lock)"]}}
... {"end": "stuck"}''')
>>> len(reading.host["stuck_processes"]), reading.complete
(1, True)
"""

from __future__ import annotations

from boardops.readers.probe_lines import reading_of
from boardops.readers.reading import Reading

KIND = "stuck-probe"
TITLE = "hanging processes"
PROBE = "stuck"

FILLS: tuple[str, ...] = ("stuck_processes",)
"""Facts of the host that the probe gives, without their first word."""


def read(data: bytes) -> Reading:
    """The facts in the probe's output."""
    return reading_of(data, kind=KIND, title=TITLE, probe=PROBE)
