"""What stands before the message in a line of a kernel log: time, time since the boot, boot, level, host.

Called by kernel_log.py for lines that matter, and for the first and the last of a log. A time counts only where its
zone is known: `dmesg -T` and syslog print local time, which nobody can place.
"""

from __future__ import annotations

import datetime
import re

import msgspec
from msgspec import Struct

MAX_LINE = 4096
"""Characters of a line that are read; the kernel's own lines end before 1,024."""
_ANSI = re.compile(r"\x1b\[[0-9;]{0,16}[A-Za-z]")
_KMSG = re.compile(r"\d{1,6},\d{1,20},(\d{1,20}),[^;]{0,40};")
_LEVEL = re.compile(
    r"(?:kern|user|syslog|daemon)\s{0,4}:\s?(?:emerg|alert|crit|err|warn|notice|info|debug)\s{0,4}:\s?|<\d{1,3}>(?=\S|\s)"
)
_UPTIME = re.compile(r"\[\s{0,12}(\d{1,12}\.\d{1,9})\](?:\s?\[\s{0,8}[TC]\d{1,10}\])?\s?")
_BRACKETED = re.compile(r"\[[^\]\d]{0,24}\d[^\]]{6,60}\]\s?")
_ISO = re.compile(r"(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d)(?:[.,](\d{1,9}))?\s?(Z|[+-]\d\d:?\d\d)?\s?")
_RFC5424 = re.compile(r"<\d{1,3}>\d\s(?=\d{4}-)")
_SYSLOG = re.compile(r"\S{1,12}\s{1,2}\d{1,2}\s\d\d:\d\d:\d\d(?:\.\d{1,6})?\s")
_HOST = re.compile(r"(?:[\w.:-]{1,255}\s)?kernel(?:\[\d{1,9}\])?:?\s(?:(?:-\s){1,3})?|[\w.-]{1,255}\s(?=kernel:)")
_FIELDS = ("MESSAGE", "_BOOT_ID", "__REALTIME_TIMESTAMP", "_SOURCE_MONOTONIC_TIMESTAMP", "__MONOTONIC_TIMESTAMP")


class Line(Struct, frozen=True):
    """One line of a log."""

    message: str
    time: str | None = None
    """RFC 3339 in UTC, where the line tells its zone."""
    uptime_seconds: float | None = None
    boot: str | None = None
    """The boot id where the line itself has it."""
    stamped: bool = False
    """Whether there was anything before the message that a kernel log has."""


def line_of(data: bytes) -> Line:
    """A line of any kind of kernel log.

    >>> line_of(b"[131453.740743] NVRM: x").uptime_seconds, line_of(b"6,3973,227996636,-;NVRM: x").message
    (131453.740743, 'NVRM: x')
    >>> line_of(b"kern  :warn  : 2025-01-21T04:41:44,283302+00:00 NVRM: x").time
    '2025-01-21T04:41:44Z'
    """
    stripped = data.strip()
    if stripped.startswith(b"{"):
        found = _journal(stripped)
        if found is not None:
            return found
    text = stripped[:MAX_LINE].decode("utf-8", "replace")
    if "\x1b" in text:
        text = _ANSI.sub("", text)
    return _text(text)


def _text(text: str) -> Line:
    time: str | None = None
    uptime: float | None = None
    at = start = len(text) - len(text.lstrip())
    while True:
        begun = at
        if match := _KMSG.match(text, at):
            uptime = int(match[1]) / 1e6
        elif match := _RFC5424.match(text, at) or _LEVEL.match(text, at):
            pass
        elif match := _UPTIME.match(text, at):
            uptime = float(match[1])
        elif match := _ISO.match(text, at):
            time = time or _utc(match[1], match[2], match[4])
        elif at == start:
            match = _BRACKETED.match(text, at) or _SYSLOG.match(text, at) or _HOST.match(text, at)
        else:
            match = _HOST.match(text, at)
        if match is None or match.end() == begun:
            return Line(text[at:].strip(), time, uptime, stamped=at > start)
        at = match.end()


def _utc(day: str, clock: str, zone: str | None) -> str | None:
    if zone is None:
        return None
    zone = "+00:00" if zone == "Z" else zone if ":" in zone else f"{zone[:3]}:{zone[3:]}"
    try:
        time = datetime.datetime.fromisoformat(f"{day}T{clock}{zone}")
        return time.astimezone(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    except (ValueError, OverflowError):
        return None


def _journal(data: bytes) -> Line | None:
    """A line of `journalctl -o json`; None where it is none."""
    try:
        found = msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    if not isinstance(found, dict) or not any(name in found for name in _FIELDS):
        return None
    boot, micros = found.get("_BOOT_ID"), _number(found.get("__REALTIME_TIMESTAMP"))
    since = _number(found.get("_SOURCE_MONOTONIC_TIMESTAMP")) or _number(found.get("__MONOTONIC_TIMESTAMP"))
    return Line(
        _message(found.get("MESSAGE")),
        _from_micros(micros),
        None if since is None else since / 1e6,
        boot if isinstance(boot, str) and len(boot) <= 64 else None,
        stamped=True,
    )


def _message(value: object) -> str:
    """What journald gives as text, or as a list of bytes where it is not UTF-8."""
    if isinstance(value, list):
        value = bytes(byte for byte in value[:MAX_LINE] if isinstance(byte, int) and 0 <= byte < 256).decode(
            "utf-8", "replace"
        )
    return value[:MAX_LINE].strip() if isinstance(value, str) else ""


def _number(value: object) -> int | None:
    if isinstance(value, (str, int)) and not isinstance(value, bool) and re.fullmatch(r"\d{1,20}", str(value)):
        return int(value)
    return None


def _from_micros(micros: int | None) -> str | None:
    if micros is None:
        return None
    try:
        time = datetime.datetime.fromtimestamp(micros // 10**6, datetime.timezone.utc)
    except (ValueError, OverflowError, OSError):
        return None
    return time.strftime("%Y-%m-%dT%H:%M:%SZ")
