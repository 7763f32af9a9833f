"""Read kernel logs: dmesg in all its forms, /dev/kmsg, `journalctl -k` as text and as JSON, syslog files.

Only lines that hold one of a few words are looked at; all others cost a search. Equal faults of one boot are one, with
their number and the times of the first and the last. A log without a fault is a log; a text that is none is not.

>>> reading = read(b'''[    0.000000] Linux version 6.8.0
... [131453.740743] NVRM: Xid (PCI:0000:91:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.
... ''')
>>> fault, = reading.host["faults"]
>>> fault.code, fault.pci_address, fault.uptime_seconds, reading.host["log.covers_boot"]
('79', '0000:91:00.0', 131453.740743, True)
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from msgspec.structs import replace

from boardops.facts import Fault, Missing, Value
from boardops.readers.kernel_messages import WORDS, continues, fault_of
from boardops.readers.kernel_stamps import Line, line_of
from boardops.readers.reading import Reading

KIND = "kernel-log"
TITLE = "kernel log"
FILLS: tuple[str, ...] = (
    "host.boot_id",
    "host.faults",
    "host.log.first_at",
    "host.log.last_at",
    "host.log.covers_boot",
    "host.log.from_uptime_seconds",
)
MAX_FAULTS = 2000
"""Different faults of one log; a log with more is broken or made up."""
MAX_JSON_LINE = 64 * 1024
START = b"Linux version "
BOOT, REBOOT = b"-- Boot ", b"-- Reboot --"
BYTES = b'"MESSAGE":['
"""How a journal gives a message that is no UTF-8."""
EARLY_SECONDS = 300.0
"""A clock of the kernel that goes back to less than this was started again. One that goes back otherwise is of lines
from several logs, and nobody can tell which of them is of the last boot."""
_NO_STAMP = Missing("not-supported", "the log has no time stamps")
_NO_ZONE = Missing("not-supported", "the log has no times with a zone")
_BOOT_LINE = re.compile(rb"^-- Boot ([0-9a-f]{32})\b")
_STRONG = (
    b"NVRM: Xid",
    b"SXid (PCI",
    b"] Linux version ",
    b"kernel: Linux version ",
    b"NVRM: ",
    b'"_TRANSPORT":"kernel"',
)
_HEAD = 64 * 1024
_Key = tuple[int, str, str, "str | None", str]
"""What makes two faults one: boot, kind, code, address, detail."""
_SHARE = 0.6


def recognise(data: bytes) -> bool:
    """Whether most lines at the beginning are stamped as a kernel log's, or some can be of nothing else."""
    head = data[:_HEAD]
    if any(words in head for words in _STRONG):
        return True
    lines = [line_of(line[:MAX_JSON_LINE]) for line in head.split(b"\n")[:60] if line.strip()]
    kernel = [line for line in lines if line.uptime_seconds is not None]
    return len(kernel) >= 3 and len(kernel) >= _SHARE * len(lines)


def read(data: bytes) -> Reading:
    """The faults in a log, and how far it reaches."""
    log = _Log()
    for line in _candidates(data):
        log.take(line)
    first, last = _end(data, first=True), _end(data, first=False)
    problems = []
    if log.left_out:
        problems.append(f"{log.left_out} lines of further faults are left out: there are more than {MAX_FAULTS} kinds")
    return Reading(
        kind=KIND,
        title=TITLE,
        host={**log.facts(), **_reach(log, first, last)},
        boards=(),
        problems=tuple(problems),
        read_at=last.time if last else None,
        complete=True,
    )


def _candidates(data: bytes) -> Iterator[bytes]:
    """The lines that can matter, in their order; each once."""
    starts: dict[int, None] = {}
    for word in (*WORDS, START, BOOT, REBOOT, BYTES):
        at = data.find(word)
        while at >= 0:
            starts[data.rfind(b"\n", 0, at) + 1] = None
            end = data.find(b"\n", at)
            at = data.find(word, end) if end >= 0 else -1
    for start in sorted(starts):
        end = data.find(b"\n", start)
        yield data[start : min(end if end >= 0 else len(data), start + MAX_JSON_LINE)]


def _end(data: bytes, *, first: bool) -> Line | None:
    """The first or the last line of the log that has something before its message."""
    part = data[:_HEAD] if first else data[-_HEAD:]
    lines = part.split(b"\n") if first else part.split(b"\n")[:0:-1] or part.split(b"\n")
    for raw in lines[:200]:
        if raw.strip() and not raw.startswith(b"-- "):
            line = line_of(raw[:MAX_JSON_LINE])
            if line.time or line.uptime_seconds is not None:
                return line
    return None


@dataclass(slots=True)
class _Seen:
    """One fault, and the first and the last line that told of it."""

    fault: Fault
    first: Line
    last: Line
    count: int = 1


@dataclass(slots=True)
class _Log:
    """What was read so far."""

    seen: dict[_Key, _Seen] = field(default_factory=dict)
    ids: list[str | None] = field(default_factory=lambda: [None])
    """The boots of the log, with their ids where they have one."""
    begun: list[bool] = field(default_factory=lambda: [False])
    """Whether the start of each boot is in the log."""
    fresh: bool = True
    """Whether nothing of the newest boot came so far."""
    uptime: float | None = None
    left_out: int = 0
    known: dict[str, Fault | None] = field(default_factory=dict)

    def take(self, raw: bytes) -> None:
        if raw.startswith((BOOT, REBOOT)):
            match = _BOOT_LINE.match(raw)
            self.boot(match[1].decode() if match else None, begun=match is not None)
            return
        line = line_of(raw)
        self.follow(line)
        if "Linux version " in line.message[:40]:
            if not self.fresh or self.begun[-1] is False:
                self.boot(self.ids[-1] if self.fresh else line.boot, begun=True)
            return
        self.fault(line)

    def boot(self, id: str | None, *, begun: bool) -> None:
        """A new boot; the one that nothing came of so far is taken for it."""
        if self.fresh:
            self.ids[-1], self.begun[-1] = id or self.ids[-1], begun or self.begun[-1]
        else:
            self.ids.append(id)
            self.begun.append(begun)
        self.fresh, self.uptime = True, None

    def follow(self, line: Line) -> None:
        """Tell boots apart by their ids, or by a clock that starts again."""
        if line.boot is not None and line.boot != self.ids[-1]:
            if self.ids[-1] is None and self.fresh:
                self.ids[-1] = line.boot
            else:
                self.boot(line.boot, begun=False)
        up = line.uptime_seconds
        if up is not None:
            if line.boot is None and self.uptime is not None and up < min(self.uptime, EARLY_SECONDS) - 1:
                self.boot(None, begun=False)
            self.uptime = up

    def fault(self, line: Line) -> None:
        further = continues(line.message)
        boot = len(self.ids) - 1
        if further and any(key[:4] == (boot, "sxid", further[1], further[0]) for key in self.seen):
            return
        fault = self._read(line.message)
        if fault is None:
            return
        self.fresh = False
        key = (boot, fault.kind, fault.code, fault.pci_address, fault.detail)
        old = self.seen.get(key)
        if old is not None:
            old.last, old.count = line, old.count + 1
        elif len(self.seen) < MAX_FAULTS:
            self.seen[key] = _Seen(fault, line, line)
        else:
            self.left_out += 1

    def _read(self, message: str) -> Fault | None:
        """The fault of a message; storms repeat theirs."""
        if message not in self.known:
            if len(self.known) >= MAX_FAULTS:
                self.known.clear()
            self.known[message] = fault_of(message)
        return self.known[message]

    def facts(self) -> dict[str, Value]:
        last = len(self.ids) - 1
        faults = tuple(
            replace(
                seen.fault,
                time=seen.first.time,
                last_time=seen.last.time,
                boot=self.ids[key[0]] or str(key[0] - last),
                uptime_seconds=seen.last.uptime_seconds,
                count=seen.count,
            )
            for key, seen in self.seen.items()
        )
        id = self.ids[-1]
        return {"faults": faults, **({"boot_id": id} if id else {})}


def _reach(log: _Log, first: Line | None, last: Line | None) -> dict[str, Value]:
    """How far the log reaches. Of a log of several boots the start of the last one counts."""
    values: dict[str, Value] = {
        "log.first_at": first.time if first and first.time else _NO_ZONE,
        "log.last_at": last.time if last and last.time else _NO_ZONE,
    }
    up = first.uptime_seconds if first and len(log.ids) == 1 else None
    if log.begun[-1] or (up is not None and up < 1):
        return {**values, "log.covers_boot": True, "log.from_uptime_seconds": 0.0}
    if up is None:
        return {**values, "log.covers_boot": _NO_STAMP, "log.from_uptime_seconds": _NO_STAMP}
    return {**values, "log.covers_boot": False, "log.from_uptime_seconds": up}
