"""Faults of a log, put where they belong: to their boards, with their meaning, and told apart from what is past.

Called by derive.py with the facts that readers gave. Every fault stays visible; one that no longer counts says why:
it is from an earlier boot, from before its driver was loaded or its board was reset, or the board shows that what it
asked for was done. What a code means is the catalog's business, what follows is the rules'.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Mapping, Sequence

from msgspec.structs import replace

from boardops.facts import ACTIONS, SEVERITIES, Fault, Missing, Value, Values

NO_LOG = Missing("not-collected", "no kernel log was read")
NOTHING_ASKED = Missing("not-supported", "no fault asks for anything")
LAST_BOOT = "0"
"""How a log without boot ids calls its last boot."""
SLACK_SECONDS = 120.0
"""How far the clock of a log and that of the uptime may be apart."""
MEMORY_REPAIRED = frozenset({"48", "63", "94", "95"})
"""Xids of memory errors that a reset settles: the remap that was pending becomes active. Source: NVIDIA GPU Memory
Error Management, row remapping; confidence high."""
MARKS: Mapping[str, str] = {
    "driver-loaded": "the driver was loaded again since then",
    "board-reset": "the board was reset since then",
}
"""Lines that tell of a new start, not of a fault."""
# From the most to the least that is asked for.
_URGENCY = (
    "replace-board",
    "call-vendor",
    "reseat-board",
    "check-power",
    "reboot-host",
    "reset-board",
    "check-cooling",
    "check-cabling",
    "update-software",
    "restart-service",
    "change-setting",
    "restart-workload",
    "free-memory",
    "grant-access",
    "install-tool",
    "watch",
    "none",
)
assert set(_URGENCY) == set(ACTIONS)


def settle(host: Values, boards: Sequence[Values], at: datetime.datetime) -> tuple[Values, tuple[Values, ...]]:
    """The host and its boards, each with its own faults and what they come to; `at` is when the rest was read."""
    told = host.get("faults", NO_LOG)
    if not isinstance(told, tuple):
        gone = told if isinstance(told, Missing) else NO_LOG
        nothing: Values = {"faults": gone, **_groups(gone)}
        return {**host, **nothing}, tuple({**nothing, **board} for board in boards)
    faults = [fault for fault in told if isinstance(fault, Fault)]
    placed = _judged(host, boards, faults, at) if faults else []
    addresses = {address for board in boards if (address := _address(board))}
    return (
        {**host, **_of(fault for address, fault in placed if address not in addresses)},
        tuple({**board, **_of(fault for address, fault in placed if address == _address(board))} for board in boards),
    )


def _judged(
    host: Values, boards: Sequence[Values], faults: Sequence[Fault], at: datetime.datetime
) -> list[tuple[str, Fault]]:
    """The faults with the addresses of their boards, their meaning, and whether they still count."""
    # Most machines have no fault at all, and need no catalog.
    from boardops.catalog.chains import fold
    from boardops.catalog.faults import annotate

    by_address = {address: board for board in boards if (address := _address(board))}
    by_uuid = {str(board.get("uuid")): address for address, board in by_address.items()}
    starts = [fault for fault in faults if fault.kind == "kernel" and fault.code in MARKS]
    known = []
    for fault in faults:
        if fault.pci_address is None and fault.detail in by_uuid:
            fault = replace(fault, pci_address=by_uuid[fault.detail])
        board = by_address.get(_slot(fault.pci_address), {})
        architecture, driver = board.get("architecture"), board.get("driver_version")
        fault = _dated(fault, host, at)
        meant = annotate(
            fault,
            architecture if isinstance(architecture, str) else None,
            driver if isinstance(driver, str) else None,
        )
        past = fault.past or _past(fault, host, board, starts, at)
        known.append(replace(meant, past=past))
    return [(_slot(fault.pci_address), fault) for fault in fold(known)]


def _dated(fault: Fault, host: Values, at: datetime.datetime) -> Fault:
    """The fault with the time of its last line, where the log counts from this boot only."""
    now, up = host.get("uptime_seconds"), fault.uptime_seconds
    if fault.last_time or up is None or not isinstance(now, (int, float)) or not 0 <= up <= now + SLACK_SECONDS:
        return fault
    if fault.boot not in (None, LAST_BOOT, host.get("boot_id")):
        return fault
    time = at - datetime.timedelta(seconds=now - up)
    return replace(fault, last_time=time.strftime("%Y-%m-%dT%H:%M:%SZ"))


def _past(fault: Fault, host: Values, board: Values, starts: Iterable[Fault], at: datetime.datetime) -> str:
    """Why a fault no longer counts; empty where it does, or where nobody can tell."""
    if fault.kind == "kernel" and fault.code in MARKS:
        return "it tells of a new start"
    return _earlier_boot(fault, host, at) or _before_start(fault, starts) or _repaired(fault, board)


def _earlier_boot(fault: Fault, host: Values, at: datetime.datetime) -> str:
    boot, now = fault.boot, host.get("boot_id")
    why = "it is from an earlier boot"
    if boot is not None and boot.startswith("-"):
        return why
    if boot not in (None, LAST_BOOT) and isinstance(now, str):
        return why if _plain(boot or "") != _plain(now) else ""
    last, up = _time(fault.last_time or fault.time), host.get("uptime_seconds")
    if last is None or not isinstance(up, (int, float)):
        return ""
    booted = at - datetime.timedelta(seconds=up + SLACK_SECONDS)
    return why if last < booted else ""


def _plain(boot: str) -> str:
    return boot.replace("-", "").lower()


def _before_start(fault: Fault, starts: Iterable[Fault]) -> str:
    for start in starts:
        concerned = start.pci_address is None or _slot(start.pci_address) == _slot(fault.pci_address)
        # The driver is loaded once in each boot; a second time it was loaded again.
        if concerned and fault.boot == start.boot and _is_before(fault, start):
            return MARKS[start.code]
    return ""


def _is_before(fault: Fault, start: Fault) -> bool:
    """Whether the last of the faults was before the last start."""
    if fault.uptime_seconds is not None and start.uptime_seconds is not None:
        return fault.uptime_seconds < start.uptime_seconds
    last, started = _time(fault.last_time or fault.time), _time(start.last_time or start.time)
    return last is not None and started is not None and last < started


def _repaired(fault: Fault, board: Values) -> str:
    """Whether the board shows that the memory error of a fault was settled by a reset."""
    if fault.kind != "xid" or fault.code not in MEMORY_REPAIRED:
        return ""
    settled = board.get("rows.pending") is False and board.get("rows.failed") is False
    asked = board.get("recovery_action")
    quiet = asked == "none" or asked is None or isinstance(asked, Missing)
    errors = board.get("ecc.uncorrected_volatile_count")
    if settled and quiet and errors == 0 and _had_errors(board):
        return "the board was reset since then: no remap waits, and there was no new uncorrected error"
    return ""


def _had_errors(board: Values) -> bool:
    """Whether counters that outlive a reset know of the error; else none of its counters can be believed."""
    counts = (board.get("ecc.uncorrected_aggregate_count"), board.get("rows.remapped_uncorrected_count"))
    return any(isinstance(count, int) and count > 0 for count in counts)


def _of(faults: Iterable[Fault]) -> dict[str, Value]:
    """The facts of one board or of the host."""
    own = tuple(faults)
    return {"faults": own, **_groups(own)}


def _groups(faults: tuple[Fault, ...] | Missing) -> dict[str, Value]:
    if isinstance(faults, Missing):
        names = ("failing", "warning", "noted", "failing_action", "warning_action")
        return {f"fault.{name}": faults for name in names}
    counting = {
        severity: [one for one in faults if not one.past and one.severity == severity] for severity in SEVERITIES
    }
    noted = [one for one in faults if (one.past or one.severity == "note") and one.code not in MARKS]
    return {
        "fault.failing": tuple(map(words_of, counting["fail"])),
        "fault.warning": tuple(map(words_of, counting["warn"])),
        "fault.noted": tuple(map(words_of, noted)),
        "fault.failing_action": _most_urgent(counting["fail"]),
        "fault.warning_action": _most_urgent(counting["warn"]),
    }


def _most_urgent(faults: Iterable[Fault]) -> Value:
    actions = {fault.action for fault in faults} & set(_URGENCY)
    return min(actions, key=_URGENCY.index) if actions else NOTHING_ASKED


def words_of(fault: Fault) -> str:
    """A fault for people.

    >>> words_of(Fault("xid", "79", name="The board fell off the bus", count=3, last_time="2026-12-01T03:00:00Z"))
    'Xid 79: The board fell off the bus (3 times, last 2026-12-01T03:00:00Z)'
    """
    titles = {"xid": "Xid ", "sxid": "SXid ", "aer": "PCIe error ", "kernel": ""}
    title = f"{titles.get(fault.kind, f'{fault.kind} ')}{fault.code}"
    when = fault.last_time or fault.time
    remarks = [
        f"{fault.count} times" if fault.count > 1 else "",
        f"{'last ' if fault.count > 1 else ''}{when}" if when else "",
        f"with {fault.caused_by.replace(':', ' ')}" if fault.caused_by else "",
        fault.past,
    ]
    told = ", ".join(filter(None, remarks))
    return f"{title}: {fault.name or fault.raw[:80]}" + (f" ({told})" if told else "")


def _slot(address: str | None) -> str:
    """An address without its function, which some lines leave out, and all boards have at 0."""
    return f"{address.lower().partition('.')[0]}.0" if address else ""


def _address(board: Values) -> str:
    address = board.get("pci_address")
    return _slot(address) if isinstance(address, str) else ""


def _time(text: str | None) -> datetime.datetime | None:
    try:
        time = datetime.datetime.fromisoformat(text.replace("Z", "+00:00")) if text else None
    except ValueError:
        return None
    return time if time is not None and time.tzinfo is not None else None
