"""What a fault code means, how bad it is and what to do, from faults.yaml and sxids.yaml.

Called by derive.py for the faults of a host, and by `boardops explain`. All functions are pure: the same fault gives
the same answer. What drags what along is for chains.py, and whether a fault still counts is for derive.py.

Where a line says more than its code (the action of Xid 154, Fatal or not, which memory), the line decides. A code that
is not in the catalog is a warning, never silence.
"""

from __future__ import annotations

import functools
import re

import msgspec
from msgspec import Struct

from boardops.catalog.fault_lines import continues, recovery_of, spoken, told
from boardops.catalog.fault_table import (
    PRE_AMPERE,
    FaultEntry,
    FaultTable,
    Variant,
    plain,
    read_faults,
    read_sxids,
)
from boardops.catalog.nvlink5 import Decoded, decode
from boardops.catalog.sourced import shipped_catalog
from boardops.facts import Fault, Severity
from boardops.yamlfile import short

RECOVERY = "154"
"""The Xid whose line names what the driver asks for."""
TITLES = {"xid": "Xid", "sxid": "SXid", "aer": "PCIe error", "kernel": "kernel message"}
"""The kinds of fault that this catalog knows, as people write them."""
_OLD = {"tesla", "fermi", "kepler", "maxwell", "pascal", "volta", "turing"}
_CABLES = {"signal", "cables"}


class Advice(Struct, frozen=True):
    """What is said of one fault."""

    name: str
    meaning: str
    severity: Severity
    action: str
    who: str
    steps: tuple[str, ...]


def entry_of(kind: str, code: str) -> FaultEntry | None:
    """What the catalog has on a code, whatever its spelling; None where it has nothing.

    >>> entry = entry_of("xid", "79")
    >>> entry and (entry.name, entry.severity, entry.action)
    ('The board fell off the bus', 'fail', 'reboot-host')
    >>> entry_of("xid", "999") is None
    True
    """
    return _index(kind).get(plain(code)) if kind in TITLES else None


def annotate(fault: Fault, architecture: str | None = None, driver_version: str | None = None) -> Fault:
    """The fault with name, meaning, severity and action.

    `architecture` is that of the board, as the vendor's tool or the catalog names it; `driver_version` is that of its
    driver. Both may be None. A fault of a kind that this catalog does not have and that its reader explained stays.
    """
    if fault.kind not in TITLES and (fault.name or fault.meaning):
        return fault
    found = advise(fault, architecture, driver_version)
    return msgspec.structs.replace(
        fault, name=found.name, meaning=found.meaning, severity=found.severity, action=found.action
    )


def advise(fault: Fault, architecture: str | None = None, driver_version: str | None = None) -> Advice:
    """All that is to be said of a fault, with who acts and the steps."""
    entry = entry_of(fault.kind, fault.code)
    if entry is None:
        return _unknown(fault)
    if _is_too_new(entry, driver_version):
        why = f"{entry.name}? The code is known from driver {entry.since_driver} on; in an older one it may differ."
        return Advice(entry.name, why, "warn", "watch", "operator", entry.steps)
    if fault.kind == "sxid":
        return _sxid(entry, fault)
    if fault.kind == "aer":
        return _aer(entry, fault)
    if fault.kind == "xid" and entry.code == RECOVERY:
        return _recovery(entry, fault)
    decoded = decode(fault)
    return _nvlink5(entry, fault, decoded) if decoded else _varied(entry, _variant(entry, fault, architecture))


def codes_of(kind: str) -> tuple[str, ...]:
    """All codes that the catalog has of one kind, as it spells them."""
    return tuple(entry.code for entry in _table(kind).entries if entry.kind == kind)


def recoveries_of(entry: FaultEntry) -> dict[str, Variant]:
    """What the lines of a code can ask for; empty for all but Xid 154."""
    return _faults().recoveries if (entry.kind, entry.code) == ("xid", RECOVERY) else {}


def source_text(entry: FaultEntry, source: str) -> str:
    """What the short name of a source stands for."""
    return _table(entry.kind).sources[source]


def family_of(kind: str, code: str) -> str:
    """What is known of a code that the catalog does not have, in one sentence."""
    title = TITLES.get(kind, kind)
    if kind not in TITLES:
        return f"The catalog has no codes of the kind {kind}."
    if kind in {"xid", "sxid"} and not re.fullmatch(r"\d{1,9}", code):
        return f"The code of this {title} cannot be read: {short(code)}."
    what = f"{title} {short(code) if kind in {'aer', 'kernel'} else int(code)}"
    if kind == "xid":
        return f"{what} is not in the catalog, which knows 1 to {codes_of(kind)[-1]}; a newer driver may use it."
    block = _table("sxid").blocks.get(str(int(code))[:-3]) if kind == "sxid" else None
    if block:
        return (
            f"{what} is not in the catalog. Codes in its range concern this part of NVSwitch: {block}. "
            "The vendor's table counts those that it does not name as not fatal."
        )
    return f"{what} is not in the catalog."


@functools.cache
def _table(kind: str) -> FaultTable:
    """The file that has a kind of codes. Raises YamlError where it is broken."""
    if kind == "sxid":
        return shipped_catalog("sxids", FaultTable, read_sxids)
    return _faults()


@functools.cache
def _faults() -> FaultTable:
    return shipped_catalog("faults", FaultTable, read_faults)


@functools.cache
def _index(kind: str) -> dict[str, FaultEntry]:
    entries = [entry for entry in _table(kind).entries if entry.kind == kind]
    return {plain(code): entry for entry in entries for code in (entry.code, *entry.also)}


def _unknown(fault: Fault) -> Advice:
    """A warning, or a failure where the line calls itself fatal in so many words."""
    steps = ("Look the code up in the documentation of the driver that printed it.", "Watch whether it repeats.")
    name = f"{TITLES.get(fault.kind, fault.kind)} {fault.code[:40]}".strip()
    meaning = family_of(fault.kind, fault.code)
    if fault.kind in {"sxid", "aer"} and spoken(fault) == "fatal":
        return Advice(name, f"{meaning} The line calls it fatal.", "fail", "reset-board", "operator", steps)
    return Advice(name, meaning, "warn", "watch", "operator", steps)


def _is_too_new(entry: FaultEntry, driver_version: str | None) -> bool:
    """Whether the driver is older than all that are known to use the code."""
    branch = re.match(r"\s*(\d{1,6})\.", driver_version or "")
    return entry.since_driver is not None and branch is not None and int(branch[1]) < entry.since_driver


def _varied(entry: FaultEntry, variant: Variant | None) -> Advice:
    if variant is None:
        return Advice(entry.name, entry.meaning, entry.severity, entry.action, entry.who, entry.steps)
    return Advice(
        variant.name or entry.name,
        variant.meaning or entry.meaning,
        variant.severity or entry.severity,
        variant.action or entry.action,
        entry.who,
        entry.steps if variant.steps is None else variant.steps,
    )


def _variant(entry: FaultEntry, fault: Fault, architecture: str | None) -> Variant | None:
    """What the line says goes before what is known of the board."""
    if not entry.variants:
        return None
    text = f"{fault.code[:40]} {told(fault)}".lower()
    place = _place(architecture)
    said = next((one for one in entry.variants if any(word in text for word in one.says)), None)
    return said or next((one for one in entry.variants if place in one.architectures), None)


def _place(architecture: str | None) -> str:
    """An architecture as the catalog names it: all before Ampere are one."""
    word = (architecture or "").strip().lower().partition(" ")[0]
    return PRE_AMPERE if word in _OLD else word.capitalize()


def _recovery(entry: FaultEntry, fault: Fault) -> Advice:
    return _varied(entry, _faults().recoveries.get(recovery_of(fault) or ""))


def _sxid(entry: FaultEntry, fault: Fault) -> Advice:
    found = _varied(entry, None)
    word = spoken(fault)
    if word == "fatal":
        action = found.action if entry.fatal else "reset-board"
        return msgspec.structs.replace(found, severity="fail", action=action)
    if found.severity == "note":
        return found
    if word == "nonfatal":
        meaning = f"{found.meaning} The line calls it not fatal."
        return msgspec.structs.replace(found, meaning=meaning, severity="warn", action="watch")
    if continues(fault):
        meaning = f"{found.meaning} This line only adds numbers to the line before it."
        return msgspec.structs.replace(found, meaning=meaning, severity="warn", action="watch")
    return found


def _aer(entry: FaultEntry, fault: Fault) -> Advice:
    """As bad as the line says; many of these errors may be set to be fatal or not."""
    word = spoken(fault)
    found = _varied(entry, None)
    if word is None:
        return found
    kind = _index("aer")[word]
    return msgspec.structs.replace(found, severity=kind.severity, action=kind.action, steps=kind.steps)


def _nvlink5(entry: FaultEntry, fault: Fault, found: Decoded) -> Advice:
    """The word of the line decides, then the vendor's table; where neither tells, it counts as fatal."""
    word = spoken(fault)
    fatal = word == "fatal" or (word is None and found.severity != "non-fatal")
    where = f" on link {found.link}" if found.link else ""
    what = f"; {found.unit} is {found.part}" if found.part else ""
    said = "fatal" if fatal else "not fatal"
    if word is None:
        said += (
            " by the vendor's table" if found.severity else " as far as anybody can tell, since the line does not say"
        )
    meaning = f"NVLink 5 reported an event{where}{what}. It is {said}."
    steps = tuple(step for step in (found.look_at, *entry.steps) if step)
    severity, action = _nvlink5_outcome(found, fatal)
    return Advice(entry.name, meaning, severity, action, entry.who, steps)


def _nvlink5_outcome(found: Decoded, fatal: bool) -> tuple[Severity, str]:
    if fatal:
        return "fail", "reset-board"
    if found.place == "nothing" and found.at_once == "nothing":
        return "note", "none"
    return "warn", "check-cabling" if found.place in _CABLES else "watch"
