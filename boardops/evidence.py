"""Files that somebody sent: recognise them by content, read them, and join what they say of one host.

Called by the command line with the bytes of each file. Facts are joined by PCI address; the newest file that has a
value wins. What the facts lead to is not known here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Protocol

from msgspec import Struct

from boardops.conflicts import conflicts_of
from boardops.errors import BoardopsError
from boardops.facts import Evidence, Missing, Value, Values, key_of
from boardops.readers import kernel_log, nvidia_smi_csv, nvidia_smi_text, nvidia_smi_xml
from boardops.readers.markup import MarkupError
from boardops.readers.nvidia_smi_boards import unreachable
from boardops.readers.reading import Reading

MAX_BYTES = 64 * 2**20
MAX_HEAD = 2**16


class EvidenceError(BoardopsError):
    """Files that cannot be judged together, or at all. One sentence that names them."""


class Reader(Protocol):
    """A module of readers/ for a format that stands in files."""

    KIND: str
    TITLE: str
    FILLS: tuple[str, ...]

    def recognise(self, data: bytes) -> bool: ...
    def read(self, data: bytes) -> Reading: ...


READERS: tuple[Reader, ...] = (nvidia_smi_xml, nvidia_smi_text, nvidia_smi_csv, kernel_log)

_FOREIGN: tuple[tuple[bytes, str], ...] = (
    (b"\x89PNG", "a PNG picture"),
    (b"\xff\xd8\xff", "a JPEG picture"),
    (b"%PDF", "a PDF document"),
    (b"\x1f\x8b", "a gzip archive"),
    (b"\xfd7zXZ", "an xz archive"),
    (b"\x28\xb5\x2f\xfd", "a zstd archive"),
    (b"PK\x03\x04", "a zip archive"),
    (b"\x7fELF", "a program"),
    (b"SQLite format 3", "an SQLite database"),
)


_CSV_ROW = re.compile(rb"[^\n]*,[^\n]*(GPU-[0-9a-f]{8}-|[0-9A-Fa-f]{8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-7])")
_SMI_ERRORS = (
    b"nvidia-smi has failed",
    b"failed to initialize nvml",
    b"no devices were found",
    b"unable to determine the device handle",
    b"couldn't communicate with the nvidia driver",
    b"is not a valid field to query",
)


class File(Struct, frozen=True):
    """One file's name and content, bounded by MAX_BYTES + 1."""

    name: str
    data: bytes


class Joined(Struct, frozen=True):
    """What several readings say together of one host."""

    host: Values
    boards: tuple[Values, ...]
    evidence: tuple[Evidence, ...]
    read_from: Mapping[str, Mapping[str, str]]
    """For `host` and each board's PCI address: which evidence gave which fact."""
    titles: tuple[str, ...]
    """The formats that were read, for people."""


def decode(data: bytes) -> bytes:
    """UTF-16 and UTF-32 with a byte order mark, as Windows shells write them, as UTF-8; anything else as it is."""
    for mark, encoding in (
        (b"\xff\xfe\x00\x00", "utf-32"),
        (b"\x00\x00\xfe\xff", "utf-32"),
        (b"\xff\xfe", "utf-16"),
        (b"\xfe\xff", "utf-16"),
    ):
        if data.startswith(mark):
            text = data.decode(encoding, "replace")
            # The declaration would name the encoding that the text no longer has.
            return text.replace('encoding="UTF-16"', "").replace("encoding='UTF-16'", "").encode()
    return data


def read_file(file: File) -> Reading:
    """The facts of one file. Raises EvidenceError with one sentence for what boardops cannot read."""
    if len(file.data) > MAX_BYTES:
        raise EvidenceError(f"{file.name} is larger than {MAX_BYTES // 2**20} MiB")
    data = decode(file.data)
    if not data.strip(b"\x00 \t\r\n"):
        raise EvidenceError(f"{file.name} is empty" if not file.data else f"{file.name} holds nothing but blanks")
    for reader in READERS:
        if reader.recognise(data):
            try:
                reading = reader.read(data)
            except MarkupError as error:
                raise EvidenceError(f"{file.name} {error}") from None
            if not reading.boards and not reading.complete:
                raise EvidenceError(f"{file.name}: {reading.problems[0]}")
            return reading
    if lost := unreachable(data[:MAX_HEAD].decode("utf-8", "replace")):
        why = "the tool says only which boards it cannot reach"
        return Reading("nvidia-smi-error", "nvidia-smi error", {}, lost, (why,), complete=False)
    known = "nvidia-smi -q, with or without -x, its CSV with a header, and its own records"
    raise EvidenceError(f"{file.name} {_what(data)}; boardops reads {known}")


def _what(data: bytes) -> str:
    for start, what in _FOREIGN:
        if data.startswith(start):
            return f"is {what}"
    head = data[:4096]
    if b"\x00" in head:
        return "is binary"
    if any(words in head.lower() for words in _SMI_ERRORS):
        line = head.decode("utf-8", "replace").strip().splitlines()[0]
        return f"holds an error of nvidia-smi ({line[:160]!r}) and no board"
    if _CSV_ROW.match(head):
        return "looks like CSV of nvidia-smi without its header, so nobody can tell its columns"
    return "is not a format that boardops knows"


def join(readings: Sequence[tuple[str, str, Reading]]) -> Joined:
    """The facts of several readings of one host, given with the ids of their evidence and their file names.

    Raises EvidenceError where two files name one address but two boards.
    """
    # Newest first; files without a time come last, in the order in which they were given.
    by_age = sorted(readings, key=lambda entry: entry[2].read_at or "", reverse=True)
    host: dict[str, Value] = {}
    boards: dict[str, dict[str, Value]] = {}
    read_from: dict[str, dict[str, str]] = {"host": {}}
    owners: dict[str, tuple[str, str]] = {}
    addresses = {
        board["uuid"]: str(board["pci_address"])
        for _, _, reading in by_age
        for board in reading.boards
        if isinstance(board.get("uuid"), str) and isinstance(board.get("pci_address"), str)
    }
    told: dict[str, list[tuple[str, Values]]] = {}
    for id, name, reading in by_age:
        told.setdefault("host", []).append((name, reading.host))
        _add(host, read_from["host"], reading.host, id)
        for board in reading.boards:
            # Of one file only the UUID may be known, of the other both.
            address = key_of(board) if "pci_address" in board else addresses.get(board.get("uuid", ""), key_of(board))
            _check_owner(owners, address, board.get("uuid"), name)
            _add(boards.setdefault(address, {}), read_from.setdefault(address, {}), board, id)
            told.setdefault(address, []).append((name, board))
    _check_counts(by_age)
    host["conflicts"] = tuple(conflict for key in sorted(told) for conflict in conflicts_of(key, told[key]))
    return Joined(
        host,
        tuple(boards[address] for address in sorted(boards)),
        tuple(_evidence(id, name, reading) for id, name, reading in readings),
        read_from,
        tuple(dict.fromkeys(reading.title for _, _, reading in readings)),
    )


def _add(into: dict[str, Value], read_from: dict[str, str], values: Values, id: str) -> None:
    for name, value in values.items():
        old = into.get(name)
        if old is None or (isinstance(old, Missing) and not isinstance(value, Missing)):
            into[name] = value
            read_from[name] = id


def _check_owner(owners: dict[str, tuple[str, str]], address: str, uuid: Value | None, name: str) -> None:
    if not isinstance(uuid, str):
        return
    known, file = owners.setdefault(address, (uuid, name))
    if known != uuid:
        raise EvidenceError(
            f"{file} and {name} are not of one host: at {address} stands {known} in the one and {uuid} in the other"
        )


def _check_counts(readings: Sequence[tuple[str, str, Reading]]) -> None:
    """Files that show all boards of their host must not show more together than one of them counts."""
    whole = [
        (name, {key_of(board) for board in reading.boards})
        for _, name, reading in readings
        if reading.boards and reading.host.get("boards_in_driver_count") == len(reading.boards)
    ]
    together = set().union(*(keys for _, keys in whole))
    if whole and len(together) > max(len(keys) for _, keys in whole):
        counts = ", ".join(f"{name} has {len(keys)}" for name, keys in whole[:4])
        raise EvidenceError(f"the files are not of one host: {counts} boards, and together they show {len(together)}")


def _evidence(id: str, name: str, reading: Reading) -> Evidence:
    return Evidence(
        id=id,
        source=reading.kind,
        kind="file",
        origin=name,
        read_at=reading.read_at,
        seconds=None,
        outcome="ok" if reading.complete and not reading.problems else "partial",
        why="; ".join(reading.problems),
    )


def failed(number: int, name: str, why: str) -> Evidence:
    """Evidence of a file that could not be read."""
    return Evidence(f"file-{number}", "unknown", "file", name, None, None, "failed", why)
