"""One fault code in words, for `boardops explain`.

Called by explain.py with what was typed; the words come from the catalog. Knows no fault of this machine.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator

from boardops.catalog.fault_table import FaultEntry, plain
from boardops.catalog.faults import TITLES, advise, codes_of, entry_of, recoveries_of, source_text
from boardops.errors import BoardopsError
from boardops.facts import FAULT_KINDS, Fault
from boardops.yamlfile import nearest, short

_SUBJECT = re.compile(r"^\s*([A-Za-z]{2,12})(?:\s*:\s*|\s+)(\S[^\n]{0,60}?)\s*$")
_LABEL = 13
_NARROWEST = 50
_OUTCOMES = {
    "fail": "fail: the board is not fit for work before this is done",
    "warn": "warn: the board works; plan the action",
    "note": "note: told, costs no points",
}
_ACTORS = {
    "user": "user: whoever runs the program",
    "operator": "operator: whoever runs the host",
    "vendor": "vendor: open a case",
}


def parse_subject(subject: str) -> tuple[str, str] | None:
    """Kind and code of a fault as somebody typed it (`xid:79`, `XID 79`); None where it is no fault.

    A wrong kind before a colon is an error with the nearest one; rule ids have no colon.
    """
    found = _SUBJECT.match(subject)
    if found and found[1].lower() in FAULT_KINDS:
        return found[1].lower(), found[2]
    if subject.strip().isdigit():
        raise BoardopsError(f"{short(subject.strip())} is a number only; did you mean 'xid:{subject.strip()[:10]}'?")
    kind, colon, _ = subject.partition(":")
    if colon or kind.strip().lower() in FAULT_KINDS:
        _refuse(kind.strip().lower())
    return None


def _refuse(kind: str) -> None:
    if kind in FAULT_KINDS:
        raise BoardopsError(f"{kind}: the code is missing, as in {kind}:{_example(kind)}")
    known = ", ".join(FAULT_KINDS)
    raise BoardopsError(f"there are no faults of the kind {short(kind)}{nearest(kind, FAULT_KINDS)}; kinds: {known}")


def _example(kind: str) -> str:
    return {"xid": "79", "sxid": "20034", "aer": "BadTLP", "kernel": "off-the-bus"}.get(kind, "CODE")


def explain_fault(kind: str, code: str, width: int) -> tuple[str, bool]:
    """What is known of a code, wrapped to `width` columns, and whether the catalog has it."""
    entry = entry_of(kind, code)
    title = TITLES.get(kind, kind)
    if entry is None:
        return _unknown(kind, code, width), False
    lines = [*textwrap.wrap(f"{title} {entry.code}: {entry.name}", max(width, _NARROWEST)), ""]
    for label, text in _rows(entry):
        lines += _wrapped(label, text, width)
    return "\n".join(lines) + "\n", True


def _rows(entry: FaultEntry) -> Iterator[tuple[str, str]]:
    yield "Means", entry.meaning
    yield "Who acts", _ACTORS[entry.who]
    yield "Severity", _OUTCOMES[entry.severity]
    if entry.fatal is not None:
        yield "", "Where the line itself says Fatal or Non-fatal, that decides."
    yield "Action", entry.action
    yield from (("", f"- {step}") for step in entry.steps)
    for label, variant in zip(_once("Otherwise"), entry.variants, strict=False):
        words = ", ".join(f"“{word}”" for word in variant.says)
        boards = f", or the board is {' or '.join(variant.architectures)}" if variant.architectures else ""
        outcome = f"{variant.severity or entry.severity}, {variant.action or entry.action}"
        yield label, f"Where the line says {words}{boards}: {variant.name or entry.name} ({outcome})."
    for label, (word, asked) in zip(_once("Asks for"), recoveries_of(entry).items(), strict=False):
        yield label, f"{word}: {asked.meaning} ({asked.severity}, {asked.action})"
    yield "Applies to", ", ".join(entry.applies_to)
    if entry.since_driver is not None:
        yield "", f"driver {entry.since_driver} and newer"
    if entry.identifier:
        yield "Vendor's name", entry.identifier
    if entry.guide:
        yield "Guide", f"the Fabric Manager guide counts it as {entry.guide.replace('-', ' ')}"
    for label, opinion in zip(_once("Disagreement"), entry.opinions, strict=False):
        yield label, f"{opinion.source}: {opinion.says}"
    if entry.choice:
        yield "Our choice", entry.choice
    for label, source in zip(_once("Sources"), entry.sources, strict=False):
        yield label, f"{source}: {source_text(entry, source)}"
    yield "Confidence", entry.confidence


def _once(label: str) -> Iterator[str]:
    """The label for the first row of several."""
    yield label
    while True:
        yield ""


def _wrapped(label: str, text: str, width: int) -> list[str]:
    indent = " " * (_LABEL + 4)
    first = f"  {label:<{_LABEL}}  "
    hanging = indent + "  " if text.startswith("- ") else indent
    return textwrap.wrap(
        text, max(width, _NARROWEST), initial_indent=first, subsequent_indent=hanging, break_on_hyphens=False
    ) or [first.rstrip()]


def _unknown(kind: str, code: str, width: int) -> str:
    """What its family tells, and the nearest word where the code is a word."""
    found = advise(Fault(kind, code))  # type: ignore[arg-type]
    near = nearest(plain(code), [plain(known) for known in codes_of(kind)]) if kind in {"aer", "kernel"} else ""
    spelled = {plain(known): known for known in codes_of(kind)} if near else {}
    for word, known in spelled.items():
        near = near.replace(f"'{word}'", f"'{kind}:{known}'")
    lines = ["".join(char if char.isprintable() else "?" for char in found.name), ""]
    rows = [("Means", found.meaning + (near and f" Did you mean{near.partition('did you mean')[2]}"))]
    if kind in TITLES:
        rows += [("Severity", _OUTCOMES[found.severity]), ("Action", found.action)]
        rows += [("", f"- {step}") for step in found.steps]
    for label, text in rows:
        lines += _wrapped(label, text, width)
    return "\n".join(lines) + "\n"
