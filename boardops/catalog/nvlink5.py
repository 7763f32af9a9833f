"""What a line of NVLink 5 (Xid 144 to 150) says of itself, from nvlink5.yaml.

Called by faults.py and `boardops explain`. The numbers of a line are matched against the vendor's rules; a line that
cannot be read is no error, it only says less. Whether the fault is fatal is decided by faults.py.
"""

from __future__ import annotations

import functools
import re

from msgspec import Struct

from boardops.catalog.fault_lines import link_of, told
from boardops.catalog.sourced import Catalog, read_catalog, shipped_catalog
from boardops.facts import Fault
from boardops.yamlfile import Item

SCHEMA = "boardops.nvlink5/1"
CODES = ("144", "145", "146", "147", "148", "149", "150")
SEVERITIES = ("fatal", "link-fatal", "non-fatal")
AT_ONCE = ("nothing", "reset", "follow-154")
RULE_KEYS = ("xid", "units", "info", "status", "severity", "at_once", "look_at")
_BITS = 32
_PATTERN = re.compile(r"^[01-]{32}$")
_NUMBER = re.compile(r"^0x[0-9a-f]{1,8}$")
_UNIT = re.compile(r"\b(SAW|RLW|TLW|TREX|NVLPW|NETIR|MSE)(_[A-Z0-9_]{1,40})?\b")
_NUMBERS = re.compile(r"\((0x[0-9a-fA-F]{1,8})[ ,]{1,3}(0x[0-9a-fA-F]{1,8})\b")


class Bits(Struct, frozen=True):
    """Bits of a number that must be as given; all others may be anything."""

    mask: int
    value: int


class Decoding(Struct, frozen=True):
    """One rule of the vendor: what a unit means by two numbers."""

    xid: str
    units: tuple[str, ...]
    info: tuple[Bits, ...]
    status: int
    severity: str
    at_once: str
    look_at: str


class Nvlink5(Struct, frozen=True):
    """The whole table."""

    places: dict[str, str]
    """Where to look, in words; empty where nothing is asked for."""
    units: dict[str, str]
    """What the beginning of a unit's name stands for; the longer names come first."""
    rules: tuple[Decoding, ...]


class Decoded(Struct, frozen=True):
    """What is known of one line; empty or None where the line, or the table, does not say."""

    unit: str
    part: str
    """What the unit is, in words."""
    link: str | None
    severity: str | None
    """What the vendor's table says, one of SEVERITIES."""
    at_once: str
    """What the table asks for at once, one of AT_ONCE."""
    place: str
    """Where the table asks to look, a word of `places`."""
    look_at: str


def decode(fault: Fault) -> Decoded | None:
    """What the line of a Xid 144 to 150 says; None for every other fault.

    >>> line = "NETIR_BER_EVENT Nonfatal XC0 i0 Link 03 (0x00086226 0x00000001 0x00000000)"
    >>> found = decode(Fault("xid", "149", raw=line))
    >>> found and (found.link, found.severity, found.place)
    ('3', 'non-fatal', 'cables')
    """
    if fault.kind != "xid" or fault.code not in CODES:
        return None
    text = told(fault)
    unit = _unit(text)
    rule = _rule(fault.code, unit, _NUMBERS.search(text))
    return Decoded(
        unit=unit,
        part=next((words for name, words in nvlink5().units.items() if unit.startswith(name)), ""),
        link=link_of(fault),
        severity=rule.severity if rule else None,
        at_once=rule.at_once if rule else "",
        place=rule.look_at if rule else "",
        look_at=nvlink5().places[rule.look_at] if rule else "",
    )


def _unit(text: str) -> str:
    found = _UNIT.search(text)
    return found[0] if found else ""


def _rule(code: str, unit: str, numbers: re.Match[str] | None) -> Decoding | None:
    """The rule whose unit and numbers are those of the line; the exact status before one of its bits."""
    if numbers is None:
        return None
    info, status = int(numbers[1], 16), int(numbers[2], 16)
    fitting = [
        rule
        for rule in nvlink5().rules
        if rule.xid == code
        and (not unit or any(unit == name or unit in name.split("_", 1) for name in rule.units))
        and any(info & bits.mask == bits.value for bits in rule.info)
    ]
    exact = [rule for rule in fitting if rule.status == status]
    return next(iter(exact or [rule for rule in fitting if rule.status & status]), None)


@functools.cache
def nvlink5() -> Nvlink5:
    """The shipped table. Raises YamlError where the file is broken."""
    return shipped_catalog("nvlink5", Nvlink5, read_nvlink5)


def read_nvlink5(text: str, file: str) -> Nvlink5:
    """The table of a catalog text. Raises YamlError with file and line."""
    catalog = read_catalog(text, file, SCHEMA, ("places", "units", "rules"))
    places = _texts(catalog, "places")
    units = _texts(catalog, "units")
    rules = tuple(_decoding(item, places) for item in catalog.parts["rules"].list("rules"))
    return Nvlink5(places, dict(sorted(units.items(), key=lambda pair: -len(pair[0]))), rules)


def _texts(catalog: Catalog, part: str) -> dict[str, str]:
    return {key: item.text(f"an entry of {part}") for key, item in catalog.parts[part].map(part).items()}


def _decoding(item: Item, places: dict[str, str]) -> Decoding:
    keys = item.map("a rule", RULE_KEYS, RULE_KEYS)
    units = tuple(each.text("a unit") for each in keys["units"].list("units"))
    info = tuple(_bits(each) for each in keys["info"].list("info"))
    if not units or not info:
        raise item.error("units and info must not be empty")
    status = keys["status"].text("status")
    if not _NUMBER.match(status):
        raise keys["status"].error(f"status must be a number such as 0x00000001, not {keys['status'].shown()}")
    return Decoding(
        keys["xid"].one_of("xid", CODES),
        units,
        info,
        int(status, 16),
        keys["severity"].one_of("severity", SEVERITIES),
        keys["at_once"].one_of("at_once", AT_ONCE),
        keys["look_at"].one_of("look_at", places),
    )


def _bits(item: Item) -> Bits:
    text = item.text("info")
    if not _PATTERN.match(text):
        raise item.error(f"info must be {_BITS} of 0, 1 and -, not {item.shown()}")
    mask = int("".join("0" if char == "-" else "1" for char in text), 2)
    return Bits(mask, int(text.replace("-", "0"), 2))
