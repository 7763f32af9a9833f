"""Read the lines of probes/kernel_log.py: lines of the kernel log, read as a file of them is.

>>> reading = read(b'''{"probe": "kernel_log"}
... {"log": "6,0,0,-;Linux version 6.8.0"}
... {"log": "4,900,5000000,-;NVRM: Xid (PCI:0000:38:00): 79, GPU has fallen off the bus."}
... {"end": "kernel_log"}''')
>>> [fault.code for fault in reading.host["faults"]], reading.complete
(['79'], True)
"""

from __future__ import annotations

import msgspec
from msgspec.structs import replace

from boardops.readers import kernel_log
from boardops.readers.probe_lines import reading_of
from boardops.readers.reading import Reading

KIND = "kernel-log-probe"
TITLE = "kernel log"
PROBE = "kernel_log"
FILLS: tuple[str, ...] = (
    "faults",
    "log.first_at",
    "log.last_at",
    "log.covers_boot",
    "log.from_uptime_seconds",
)
"""Facts of the host that the probe gives, without their first word."""
_LOG = b'{"log": '


def read(data: bytes) -> Reading:
    """The facts in the probe's output."""
    said: list[bytes] = []
    log: list[str] = []
    for line in data.split(b"\n"):
        text = _text(line) if line.startswith(_LOG) else None
        if text is None:
            said.append(line)
        else:
            log.append(text)
    reading = reading_of(b"\n".join(said), kind=KIND, title=TITLE, probe=PROBE)
    if not log:
        return reading
    found = kernel_log.read("\n".join(log).encode())
    # Which boot this is, the host itself tells.
    values = {name: value for name, value in found.host.items() if name in FILLS}
    return replace(reading, host={**values, **reading.host}, problems=(*reading.problems, *found.problems))


def _text(line: bytes) -> str | None:
    try:
        found = msgspec.json.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    text = found.get("log") if isinstance(found, dict) else None
    return text.replace("\n", " ") if isinstance(text, str) else None
