"""One event that shows as several faults is told once: the others become notes that name their root.

Called by derive.py with all annotated faults of a host at once: a fault of a switch explains faults of boards. Pure,
and as long and in the same order as what came in; what has been folded stays folded. Which codes belong
together is in chains.yaml.

A root never becomes milder for what it drags, except where a chain says that the two together prove it (a memory error
that was contained). Faults whose times are not known are taken in the order in which they come, and only among
themselves; a fault that no longer counts explains none that does, and one of a board none of another board.
"""

from __future__ import annotations

import bisect
import datetime
import functools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec
from msgspec import Struct

from boardops.catalog.chain_table import Chain, ChainTable, read_chains
from boardops.catalog.fault_lines import link_of, named_cause
from boardops.catalog.sourced import shipped_catalog
from boardops.facts import SEVERITIES, Fault, Severity

NEIGHBOURS = 16
"""How many of the nearest roots are looked at for one fault, on each side, so that a long log stays quick."""
_ORDER = "order"
"""The clock of faults without a time: their place among the others."""
_NOTHING = ("none", "watch")
"""Actions that ask for nothing."""


class _Event(Struct, frozen=True):
    """When and where a fault was."""

    index: int
    fault: Fault
    code: str
    clock: str
    first: float
    last: float

    def key(self, where: str) -> tuple[str, ...] | None:
        """What a root and what it drags have in common; None where a fault cannot have it."""
        board = _board(self.fault)
        common = (self.clock, str(bool(self.fault.past)))
        if where == "board":
            return (*common, board)
        if where == "host":
            # Two boards' faults without a time have nothing in common.
            return common if self.clock != _ORDER else None
        link = link_of(self.fault)
        return (*common, board, link) if link else None


_Roots = Mapping[tuple[str, ...], tuple[list[float], list[_Event]]]


class _Link(Struct, frozen=True):
    """That one fault drags another."""

    root: int
    chain: Chain | None
    """None where the line itself names its cause."""


def fold(faults: Sequence[Fault]) -> tuple[Fault, ...]:
    """The same faults; those that another dragged along are notes and name it in `caused_by`.

    >>> [fault.caused_by for fault in fold([Fault("xid", "13"), Fault("xid", "43")])]
    ['', 'xid:13']
    """
    links = _links([_event(index, fault) for index, fault in enumerate(faults)])
    tops = {index: _top(index, links) for index in links}
    folded = [_named(fault) for fault in faults]
    for index, top in tops.items():
        folded[index] = msgspec.structs.replace(faults[index], caused_by=code_of(faults[top]), severity="note")
    for top in set(tops.values()):
        folded[top] = _judged(top, faults, [index for index in tops if tops[index] == top], links)
    return tuple(folded)


def code_of(fault: Fault) -> str:
    """Kind and code of a fault in one word, such as `xid:48`."""
    return f"{fault.kind}:{fault.code}"


@functools.cache
def chain_table() -> ChainTable:
    """The shipped chains. Raises YamlError where the file is broken."""
    return shipped_catalog("chains", ChainTable, read_chains)


def _named(fault: Fault) -> Fault:
    """A note whose line names a cause that is not among the faults: the line is believed."""
    cause = named_cause(fault)
    if fault.caused_by or fault.severity != "note" or cause in (None, code_of(fault)):
        return fault
    return msgspec.structs.replace(fault, caused_by=cause)


def _links(events: Sequence[_Event]) -> dict[int, _Link]:
    """What dragged which fault along; never in a circle."""
    # What was folded before stays as it is, and explains nothing else: two faults must never explain each other.
    left = [event for event in events if not (event.fault.caused_by and event.fault.severity == "note")]
    tables = [(chain, _roots(chain, left)) for chain in chain_table().chains]
    by_code = _by_code(left)
    links: dict[int, _Link] = {}
    for event in left:
        for link in _causes(event, by_code, tables):
            if _top(link.root, links) != event.index:
                links[event.index] = link
                break
    return {index: link for index, link in links.items() if _concerns(events[_top(index, links)], events[index])}


def _concerns(root: _Event, event: _Event) -> bool:
    """Whether a root may speak for a fault: a switch for every board, a board for itself and for the switches."""
    boards = {_board(root.fault), _board(event.fault), ""}
    return "sxid" in (root.fault.kind, event.fault.kind) or len(boards) <= 2


def _causes(
    event: _Event, by_code: Mapping[tuple[str, str], list[_Event]], tables: Iterable[tuple[Chain, _Roots]]
) -> Iterator[_Link]:
    """All that may have dragged a fault along, the most certain first."""
    cause = named_cause(event.fault) or event.fault.caused_by
    if cause:
        named = [root for root in by_code.get((cause, _board(event.fault)), ()) if _same_boot(root, event)]
        before = [root for root in named if root.clock != event.clock or root.first <= event.last]
        yield from (_Link(root.index, None) for root in reversed(before) if root.index != event.index)
    for chain, roots in tables:
        if chain.drags.has(event.code):
            yield from (_Link(root.index, chain) for root in _near(event, chain, roots))


def _near(event: _Event, chain: Chain, roots: _Roots) -> Iterator[_Event]:
    """The roots that fit, the nearest before the fault first, then those after it."""
    key = event.key(chain.where)
    times, candidates = roots.get(key, ([], [])) if key is not None else ([], [])
    place = bisect.bisect_right(times, event.first)
    before = reversed(candidates[max(0, place - NEIGHBOURS) : place])
    for root in (*before, *candidates[place : place + NEIGHBOURS]):
        if root.index != event.index and _same_boot(root, event) and _fits(chain, root, event):
            yield root


def _fits(chain: Chain, root: _Event, event: _Event) -> bool:
    """Whether all of the dragged faults lie within the chain's time around the roots."""
    if root.clock == _ORDER:
        return chain.order == "any" or root.index < event.index
    early = chain.within if chain.order == "any" else chain.slack_seconds
    return root.first - early <= event.first and event.last <= root.last + chain.within


def _roots(chain: Chain, events: Iterable[_Event]) -> _Roots:
    """The faults that may be roots of a chain, by what they must have in common, in the order of time."""
    found: dict[tuple[str, ...], list[_Event]] = {}
    for event in events:
        if not chain.roots.has(event.code) or chain.root_severity not in (None, event.fault.severity):
            continue
        key = event.key(chain.where)
        if key is not None:
            found.setdefault(key, []).append(event)
    for listed in found.values():
        listed.sort(key=lambda event: event.first)
    return {key: ([event.first for event in listed], listed) for key, listed in found.items()}


def _by_code(events: Iterable[_Event]) -> dict[tuple[str, str], list[_Event]]:
    found: dict[tuple[str, str], list[_Event]] = {}
    for event in events:
        found.setdefault((event.code, _board(event.fault)), []).append(event)
    return {key: listed[-NEIGHBOURS:] for key, listed in found.items()}


def _event(index: int, fault: Fault) -> _Event:
    first = _seconds(fault.time)
    if first is not None:
        last = _seconds(fault.last_time)
        return _Event(index, fault, code_of(fault), "time", first, max(first, first if last is None else last))
    uptime = fault.uptime_seconds
    if uptime is not None and math.isfinite(uptime):
        return _Event(index, fault, code_of(fault), f"uptime {fault.boot}", uptime, uptime)
    return _Event(index, fault, code_of(fault), _ORDER, index, index)


def _seconds(time: str | None) -> float | None:
    """A time of RFC 3339 as seconds; None where there is none or it cannot be read."""
    if not time:
        return None
    try:
        return datetime.datetime.fromisoformat(time.replace("Z", "+00:00")).timestamp()
    except (ValueError, OverflowError, OSError):
        return None


def _board(fault: Fault) -> str:
    """The address without its function, which some lines leave out."""
    return (fault.pci_address or "").lower().partition(".")[0]


def _same_boot(one: _Event, other: _Event) -> bool:
    return one.fault.boot is None or other.fault.boot is None or one.fault.boot == other.fault.boot


def _top(index: int, links: Mapping[int, _Link]) -> int:
    """The root of the roots of a fault."""
    while index in links:
        index = links[index].root
    return index


def _judged(top: int, faults: Sequence[Fault], dragged: Sequence[int], links: Mapping[int, _Link]) -> Fault:
    """The root, as bad as the whole group, with what is to be done about it."""
    root = _named(faults[top])
    chains = [links[index].chain for index in dragged if links[index].root == top]
    settled = max(
        (chain for chain in chains if chain and chain.group == "settled"),
        key=lambda chain: _badness(chain.severity),
        default=None,
    )
    if settled is not None and settled.severity is not None and settled.action is not None:
        meaning = f"{root.meaning} {settled.why[:1].upper()}{settled.why[1:]}.".strip()
        root = msgspec.structs.replace(root, severity=settled.severity, action=settled.action, meaning=meaning)
    for index in dragged:
        root = _taken_over(root, faults[index], links[index].chain)
    return root


def _taken_over(root: Fault, dragged: Fault, chain: Chain | None) -> Fault:
    """What a root takes over from a fault that it dragged along."""
    group = chain.group if chain is not None else "worst"
    if group == "root":
        return root
    worse = _badness(dragged.severity) > _badness(root.severity)
    severity = dragged.severity if worse else root.severity
    asks = dragged.action not in _NOTHING and (worse or group == "action")
    return msgspec.structs.replace(root, severity=severity, action=dragged.action if asks else root.action)


def _badness(severity: Severity | None) -> int:
    return -SEVERITIES.index(severity) if severity is not None else -len(SEVERITIES)
