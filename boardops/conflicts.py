"""What two sources say against each other of one thing that does not change between two looks.

Called by evidence.py for files and by assemble.py for probes; derive.py adds what boards say against each other. Which
of the two is right is not known here: it is a finding.
"""

from __future__ import annotations

from collections.abc import Iterable

from boardops.facts import Missing, Value, Values

FIXED = (
    "model",
    "serial",
    "part_number",
    "pci_device_id",
    "memory.total_bytes",
    "vbios_version",
    "ecc.enabled",
    "mig_enabled",
)
"""Facts of a board that a user or a moment does not change by itself."""
FIXED_OF_HOST = ("hostname", "kernel", "software.nvidia_driver_version", "boards_in_driver_count")
MAX_SHOWN = 80
SAME_SHARE = 0.001
"""Two sizes that differ by less are one size, rounded."""


def conflicts_of(key: str, told: Iterable[tuple[str, Values]]) -> tuple[str, ...]:
    """The contradictions among what sources, given by name, tell of the board `key` or of `host`.

    >>> conflicts_of("0000:18:00.0", [("a.xml", {"serial": "1"}), ("b.txt", {"serial": "2"})])
    ('0000:18:00.0 serial: 1 in a.xml, 2 in b.txt',)
    """
    first: dict[str, tuple[Value, str]] = {}
    found: dict[str, str] = {}
    for name, values in told:
        for fact in FIXED_OF_HOST if key == "host" else FIXED:
            value = values.get(fact)
            if value is None or isinstance(value, Missing):
                continue
            before, where = first.setdefault(fact, (value, name))
            if not _same(before, value):
                found.setdefault(fact, f"{key} {fact}: {_shown(before)} in {where}, {_shown(value)} in {name}")
    return tuple(found.values())


def shared_uuids(boards: Iterable[Values]) -> tuple[str, ...]:
    """Boards that give one UUID, which is of one board only."""
    owners: dict[str, list[str]] = {}
    for board in boards:
        uuid = board.get("uuid")
        if isinstance(uuid, str):
            owners.setdefault(uuid, []).append(str(board.get("pci_address")))
    return tuple(f"{' and '.join(keys)} give one UUID" for keys in owners.values() if len(keys) > 1)


def _same(one: Value, other: Value) -> bool:
    if isinstance(one, (int, float)) and isinstance(other, (int, float)):
        return abs(one - other) <= SAME_SHARE * abs(one)
    return one == other


def _shown(value: Value) -> str:
    return str(value)[:MAX_SHOWN]
