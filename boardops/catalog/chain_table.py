"""Which fault drags which others along, as chains.yaml has it, read strictly.

Called by chains.py, which folds the faults of a run by it. Knows no fault of this machine.
"""

# Annotations are not postponed here: msgspec would evaluate the text of each in every run.

import re
from collections.abc import Mapping
from typing import Literal

from msgspec import Struct

from boardops.catalog.sourced import CONFIDENCES, read_catalog, read_sources, read_whole
from boardops.facts import ACTIONS, FAULT_KINDS, SEVERITIES, Severity
from boardops.yamlfile import Item

SCHEMA = "boardops.chains/1"
Where = Literal["board", "link", "host"]
WHERE: tuple[Where, ...] = ("board", "link", "host")
ORDERS = ("after", "any")
GROUPS = ("worst", "root", "settled", "action")
NEEDED = ("id", "why", "roots", "drags", "where", "order", "within", "group", "sources", "confidence")
KEYS = (*NEEDED, "root_severity", "root_except", "except", "slack_seconds", "severity", "action")
_CODES = re.compile(r"^([a-z]+):(?:\*|(\d{1,6})(?:-(\d{1,6}))?|([a-z][a-z-]{0,40}))$")
_MAX_RANGE = 1000


class Codes(Struct, frozen=True):
    """Some fault codes: `xid:48`, and all of a kind (`xid`)."""

    codes: frozenset[str]
    kinds: frozenset[str]
    left_out: frozenset[str]

    def has(self, code: str) -> bool:
        """Whether a code such as `xid:48` is among them."""
        kind = code.partition(":")[0]
        return (code in self.codes or kind in self.kinds) and code not in self.left_out


class Chain(Struct, frozen=True):
    """One way in which a fault drags others along; chains.yaml explains each value."""

    id: str
    why: str
    roots: Codes
    root_severity: Severity | None
    drags: Codes
    where: Where
    order: str
    slack_seconds: int
    within: int
    group: str
    severity: Severity | None
    action: str | None
    sources: tuple[str, ...]
    confidence: str


class ChainTable(Struct, frozen=True):
    """All chains, the first that fits counts."""

    chains: tuple[Chain, ...]
    sources: dict[str, str]


def read_chains(text: str, file: str) -> ChainTable:
    """The chains of a catalog text. Raises YamlError with file and line."""
    catalog = read_catalog(text, file, SCHEMA, ("chains",))
    chains: list[Chain] = []
    for item in catalog.parts["chains"].list("chains"):
        chain = _chain(item, catalog.sources)
        if chain.id in {other.id for other in chains}:
            raise item.error(f"the id {chain.id} is already taken")
        chains.append(chain)
    return ChainTable(tuple(chains), dict(catalog.sources))


def _chain(item: Item, sources: Mapping[str, str]) -> Chain:
    keys = item.map("a chain", KEYS, NEEDED)
    group = keys["group"].one_of("group", GROUPS)
    if (group == "settled") != ("severity" in keys and "action" in keys):
        raise item.error("severity and action belong to the group settled, and it needs both")
    order = keys["order"].one_of("order", ORDERS)
    if (order == "any") == ("slack_seconds" in keys):
        raise item.error("slack_seconds belongs to the order after, which needs it")
    return Chain(
        id=keys["id"].text("id"),
        why=keys["why"].text("why"),
        roots=_codes(keys["roots"], keys.get("root_except")),
        root_severity=_severity(keys["root_severity"]) if "root_severity" in keys else None,
        drags=_codes(keys["drags"], keys.get("except")),
        where=keys["where"].one_of("where", WHERE),  # type: ignore[arg-type]
        order=order,
        slack_seconds=read_whole(keys["slack_seconds"], "slack_seconds") if "slack_seconds" in keys else 0,
        within=read_whole(keys["within"], "within"),
        group=group,
        severity=_severity(keys["severity"]) if "severity" in keys else None,
        action=keys["action"].one_of("action", ACTIONS) if "action" in keys else None,
        sources=read_sources(keys["sources"], sources),
        confidence=keys["confidence"].one_of("confidence", CONFIDENCES),
    )


def _severity(item: Item) -> Severity:
    return item.one_of("severity", SEVERITIES)  # type: ignore[return-value]


def _codes(item: Item, left_out: Item | None) -> Codes:
    codes: set[str] = set()
    kinds: set[str] = set()
    for each in item.list("codes"):
        text = each.text("a code")
        if text.endswith(":*"):
            kinds.add(text[:-2])
        codes.update(_spelled(each))
    return Codes(
        frozenset(codes),
        frozenset(kinds),
        _codes(left_out, None).codes if left_out is not None else frozenset(),
    )


def _spelled(item: Item) -> list[str]:
    """The codes for which one entry stands; none for all of a kind."""
    text = item.text("a code")
    found = _CODES.match(text)
    if not found or found[1] not in FAULT_KINDS:
        raise item.error(f"a code must look like xid:48, xid:144-150 or xid:*, not {item.shown()}")
    kind, first, last, word = found.groups()
    if word:
        return [f"{kind}:{word}"]
    if first is None:
        return []
    numbers = range(int(first), int(last or first) + 1)
    if not 0 < len(numbers) <= _MAX_RANGE:
        raise item.error(f"{text} is no range")
    return [f"{kind}:{number}" for number in numbers]
