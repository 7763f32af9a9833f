"""Kernel logs of described events, in every form in which people send them."""

from __future__ import annotations

import datetime
import json
from collections.abc import Callable, Iterable

from msgspec import Struct

BOOT_ID = "0123456789abcdef0123456789abcdef"
BOOTED = datetime.datetime(2026, 11, 30, 6, tzinfo=datetime.timezone.utc)
FIRST = "Linux version 6.8.0-41-generic (builder@example) #41"


class Said(Struct, frozen=True):
    """One line of the log: time since the boot, and message."""

    seconds: float
    message: str


def _at(said: Said) -> datetime.datetime:
    return BOOTED + datetime.timedelta(seconds=said.seconds)


def _journal(said: Said) -> str:
    micros = int(_at(said).timestamp() * 1e6)
    return json.dumps(
        {
            "__REALTIME_TIMESTAMP": str(micros),
            "_SOURCE_MONOTONIC_TIMESTAMP": str(int(said.seconds * 1e6)),
            "_BOOT_ID": BOOT_ID,
            "_TRANSPORT": "kernel",
            "MESSAGE": said.message,
        }
    )


def _journal_bytes(said: Said) -> str:
    line = json.loads(_journal(said))
    return json.dumps({**line, "MESSAGE": list(said.message.encode())}, separators=(",", ":"))


FORMS: dict[str, Callable[[Said], str]] = {
    "dmesg": lambda said: f"[{said.seconds:12.6f}] {said.message}",
    "dmesg-caller": lambda said: f"[{said.seconds:12.6f}] [T1234] {said.message}",
    "dmesg-raw": lambda said: f"<4>[{said.seconds:12.6f}] {said.message}",
    "dmesg-x": lambda said: f"kern  :warn  : [{said.seconds:12.6f}] {said.message}",
    "dmesg-T": lambda said: f"[{_at(said):%a %b %d %H:%M:%S %Y}] {said.message}",
    "dmesg-T-fr": lambda said: f"[lun. nov. {_at(said):%d %H:%M:%S %Y}] {said.message}",
    "dmesg-T-zh": lambda said: f"[一 11月 {_at(said):%d %H:%M:%S %Y}] {said.message}",
    "dmesg-iso": lambda said: f"{_at(said):%Y-%m-%dT%H:%M:%S},123456+00:00 {said.message}",
    "dmesg-x-iso": lambda said: f"kern  :err   : {_at(said):%Y-%m-%dT%H:%M:%S},123456+00:00 {said.message}",
    "dmesg-colour": lambda said: f"\x1b[32m[{said.seconds:12.6f}] \x1b[0m\x1b[33m{said.message}\x1b[0m",
    "bare": lambda said: said.message,
    "tabs": lambda said: f"[{said.seconds:12.6f}]\t{said.message}",
    "kmsg": lambda said: f"6,{int(said.seconds * 10)},{int(said.seconds * 1e6)},-;{said.message}",
    "kmsg-caller": lambda said: f"4,9,{int(said.seconds * 1e6)},-,caller=T7;{said.message}",
    "journal-short": lambda said: f"{_at(said):%b %d %H:%M:%S} gpu-node-01 kernel: {said.message}",
    "journal-precise": lambda said: f"{_at(said):%b %d %H:%M:%S}.123456 gpu-node-01 kernel: {said.message}",
    "journal-iso": lambda said: f"{_at(said):%Y-%m-%dT%H:%M:%S}+0000 gpu-node-01 kernel: {said.message}",
    "journal-iso-precise": lambda said: (
        f"{_at(said):%Y-%m-%dT%H:%M:%S}.123456+00:00 gpu-node-01 kernel: {said.message}"
    ),
    "journal-monotonic": lambda said: f"[{said.seconds:12.6f}] gpu-node-01 kernel: {said.message}",
    "journal-json": _journal,
    "journal-json-bytes": _journal_bytes,
    "syslog": lambda said: f"{_at(said):%b %d %H:%M:%S} gpu-node-01 kernel: [{said.seconds:12.6f}] {said.message}",
    "syslog-5424": lambda said: f"<4>1 {_at(said):%Y-%m-%dT%H:%M:%S}.123Z gpu-node-01 kernel - - - {said.message}",
    "syslog-iso": lambda said: (
        f"{_at(said):%Y-%m-%dT%H:%M:%S}.123456+00:00 gpu-node-01 kernel: [{said.seconds:9.6f}] {said.message}"
    ),
    "kernel-only": lambda said: f"kernel: {said.message}",
    "windows-lines": lambda said: f"[{said.seconds:12.6f}] {said.message}\r",
}
NOISE = (
    "audit: type=1400 audit(1.2:3): apparmor=ALLOWED operation=open",
    "usb 1-1: new high-speed USB device number 2 using xhci_hcd",
    "systemd[1]: Started Session 12 of user alice.",
    "nvidia-nvlink: Nvlink Core is being initialized, major device number 511",
)


def compose_log(form: str, said: Iterable[Said], *, first: bool = True, noise: bool = True) -> bytes:
    """The log in one form. `first` says whether it begins with the boot."""
    lines = [Said(0.0, FIRST)] if first else []
    for number, one in enumerate(said):
        if noise:
            lines.append(Said(one.seconds, NOISE[number % len(NOISE)]))
        lines.append(one)
    return ("\n".join(FORMS[form](line) for line in lines) + "\n").encode()
