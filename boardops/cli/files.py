"""The first station of a run that judges files: their content, read within a bound of size and time."""

from __future__ import annotations

import os
import select
import sys
from collections.abc import Sequence
from time import monotonic

from boardops.assemble import assemble
from boardops.cli.sources import Sources
from boardops.collect import source_named
from boardops.errors import BoardopsError
from boardops.evidence import MAX_BYTES, EvidenceError, File, failed, join, read_file
from boardops.facts import Evidence
from boardops.growth import Baseline
from boardops.readers.reading import Reading
from boardops.record import answers_of, is_record, lacking, load


def from_files(names: Sequence[str], deadline_seconds: float) -> Sources:
    """What stands in files; one that cannot be read costs only itself. Raises BoardopsError where none can be read."""
    readings: list[tuple[str, str, Reading]] = []
    broken: list[Evidence] = []
    for number, name in enumerate(names, 1):
        try:
            data = _bytes(name, deadline_seconds)
            if is_record(data):
                if len(names) > 1:
                    raise BoardopsError(f"{_shown(name)} is the record of a whole run; judge it alone")
                return _from_record(data, _shown(name))
            readings.append((f"file-{number}", _shown(name), read_file(File(_shown(name), data))))
        except EvidenceError as error:
            broken.append(failed(number, _shown(name), str(error)))
    if not readings:
        raise BoardopsError("; ".join(entry.why for entry in broken))
    joined = join(readings)
    return Sources(
        joined.host,
        joined.boards,
        (*joined.evidence, *broken),
        joined.read_from,
        partial=(f"{' and '.join(joined.titles)} only",),
        unread=tuple(entry.why for entry in broken),
        read_at=max((reading.read_at for _, _, reading in readings if reading.read_at), default=None),
    )


def _from_record(data: bytes, name: str) -> Sources:
    record = load(data, name)
    answers = answers_of(record, lambda source: source_named(source, cpu=record.cpu), name)
    found = assemble(answers, record.read_at)
    lost = tuple(f"{name} lacks what the {source} probe printed" for source in lacking(record))
    return Sources(
        found.host,
        found.boards,
        found.evidence,
        found.read_from,
        partial=lost,
        unread=lost,
        read_at=record.read_at,
        intent=record.intent,
        needs=record.needs,
    )


def baseline_of(name: str, now: Sources, deadline_seconds: float) -> Baseline:
    """The facts of a run of this host that was before this one, from its record. Raises BoardopsError."""
    data = _bytes(name, deadline_seconds)
    if not is_record(data):
        raise BoardopsError(f"--baseline {_shown(name)} is no record; check --record FILE makes one")
    before = _from_record(data, _shown(name))
    _check_earlier(_shown(name), now, before)
    return Baseline(before.host, before.boards)


def _check_earlier(name: str, now: Sources, before: Sources) -> None:
    here, there = now.host.get("hostname"), before.host.get("hostname")
    if isinstance(here, str) and isinstance(there, str) and here != there:
        raise BoardopsError(f"--baseline {name} is of another host, {there!r}; this one is {here!r}")
    if now.read_at and before.read_at and before.read_at > now.read_at:
        raise BoardopsError(
            f"--baseline {name} is later than this run: it was read at {before.read_at}, this at {now.read_at}"
        )
    addresses = {board.get("pci_address") for board in before.boards}
    if before.boards and not any(board.get("pci_address") in addresses for board in now.boards):
        raise BoardopsError(f"--baseline {name} has no board of this host, so that there is nothing to compare")


def _shown(name: str) -> str:
    """A file's name for people and for JSON: what is no UTF-8 in it is shown as escapes."""
    return "standard input" if name == "-" else os.fsencode(name).decode("utf-8", "backslashreplace")


def _bytes(name: str, deadline_seconds: float) -> bytes:
    """The content of a file, at most one byte more than is read of any. Raises EvidenceError.

    What feeds a pipe may never end or never come: reading is given up after the deadline.
    """
    try:
        if name == "-":
            if sys.stdin is None:
                raise EvidenceError("standard input is closed")
            return read_within(sys.stdin.fileno(), deadline_seconds, MAX_BYTES + 1)
        if not name:
            raise EvidenceError("--from wants the name of a file")
        if os.path.isdir(name):
            raise EvidenceError(f"{_shown(name)} is a folder; give the files in it")
        handle = os.open(name, os.O_RDONLY | os.O_NONBLOCK)
        try:
            return read_within(handle, deadline_seconds, MAX_BYTES + 1)
        finally:
            os.close(handle)
    except TimeoutError:
        raise EvidenceError(f"{_shown(name)} did not end within {deadline_seconds:g} s") from None
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise EvidenceError(f"cannot read {_shown(name)}: {why}") from None


def read_within(handle: int, seconds: float, limit: int) -> bytes:
    """Read a descriptor to its end, at most `limit` bytes. Raises TimeoutError."""
    end = monotonic() + seconds
    parts: list[bytes] = []
    size = 0
    while size < limit:
        if not select.select([handle], [], [], max(0.0, end - monotonic()))[0]:
            raise TimeoutError
        try:
            part = os.read(handle, min(2**20, limit - size))
        except BlockingIOError:
            continue
        if not part:
            break
        parts.append(part)
        size += len(part)
    return b"".join(parts)
