"""What every report shows, in which order: boards worst first, findings grouped into what is to be done.

A pure function of a Result. Text, Markdown and HTML all draw from the same View, so that they tell the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import Struct

from boardops.evaluate import Finding
from boardops.facts import elsewhere
from boardops.score import ORDER, BoardResult, Readiness, Result, concerning

MOST_EXPLAINED = 8
COSTLY = ("fail", "unknown", "warn")
"""Verdicts that are told first, worst first."""
HOST = "host"


class Place(Struct, frozen=True):
    """Where a finding stands: the key of a board, or `host`."""

    key: str
    label: str
    """Short name for people: the PCI address without a zero domain, or `host`."""


class Item(Struct, frozen=True):
    """One thing to look at: a finding, the places where it stands, and what it explains."""

    finding: Finding
    """The finding at the first place; the others differ in what was found at most."""
    places: tuple[Place, ...]
    each: tuple[tuple[Place, Finding], ...]
    """The finding at each place."""
    explains: tuple[str, ...]
    """Rules whose findings this one explains."""

    @property
    def explained(self) -> tuple[str, ...]:
        """The first of them, and how many more there are: a lost board explains everything."""
        more = len(self.explains) - MOST_EXPLAINED
        return self.explains if more <= 1 else (*self.explains[:MOST_EXPLAINED], f"and {more} more")


class Unseen(Struct, frozen=True):
    """Rules that were not judged because their source was left out or is not among the files."""

    why: str
    rules: tuple[str, ...]


class View(Struct, frozen=True):
    """A result in the order in which it is told."""

    boards: tuple[BoardResult, ...]
    """Worst first: readiness, then score."""
    items: tuple[Item, ...]
    """Failing first, then unknown, then warnings, the heaviest first; each root cause once."""
    notes: tuple[Item, ...]
    waived: tuple[Item, ...]
    unseen: tuple[Unseen, ...]
    counts: tuple[tuple[Readiness, int], ...]
    """How many selected boards have which readiness, best first, without zeros."""
    selected: int


def view(result: Result) -> View:
    """The view of a result."""
    places = list(_places(result))
    roots = [(place, finding) for place, finding in places if _is_root(finding)]
    chosen = [board for board in result.boards if board.selected]
    return View(
        boards=tuple(sorted(result.boards, key=_rank)),
        items=tuple(sorted(_items(roots, places), key=_urgency)),
        notes=_items([(place, finding) for place, finding in places if finding.note], []),
        waived=_items([(place, finding) for place, finding in places if finding.verdict == "waived"], []),
        unseen=tuple(_unseen(finding for _, finding in places)),
        counts=tuple((state, count) for state in ORDER if (count := sum(board.readiness == state for board in chosen))),
        selected=len(chosen),
    )


def label(board: BoardResult) -> str:
    """A board's short name: its PCI address without a zero domain."""
    if board.pci_address:
        return board.pci_address.removeprefix("0000:")
    return board.vendor or board.key


def is_unseen(finding: Finding) -> bool:
    """Whether a finding is unknown only because its source was not read."""
    return finding.verdict == "unknown" and finding.missing == "not-collected"


def worst_finding(board: BoardResult, host: Iterable[Finding]) -> Finding | None:
    """The finding that a board's row names: the heaviest of the worst, preferably one that nothing else explains."""
    findings = [finding for finding in (*board.findings, *concerning(host, board.vendor)) if _costs(finding)]
    return min(
        findings,
        key=lambda finding: (
            COSTLY.index(finding.verdict),
            finding.caused_by is not None,
            not finding.required,
            -finding.weight,
        ),
        default=None,
    )


def reason_of(board: BoardResult, finding: Finding | None) -> str:
    """What a board's row says beside its readiness."""
    why = elsewhere(board.facts)
    if why and not board.selected:
        return f"left alone: {why}"
    return finding.reason if finding else "" if board.selected else "not selected"


def explained_by(findings: Sequence[Finding], cause: Finding) -> tuple[Finding, ...]:
    """The findings of one board that `cause` explains, also through others."""
    by_id = {finding.rule: finding for finding in findings}
    return tuple(finding for finding in findings if _root(finding, by_id) == cause.rule and finding.rule != cause.rule)


def _root(finding: Finding, by_id: dict[str, Finding]) -> str:
    seen = {finding.rule}
    while finding.caused_by and finding.caused_by in by_id and finding.caused_by not in seen:
        finding = by_id[finding.caused_by]
        seen.add(finding.rule)
    return finding.caused_by or finding.rule


def _rank(board: BoardResult) -> tuple[int, float, str]:
    return (-ORDER.index(board.readiness), board.score if board.score is not None else -1, board.key)


def _urgency(item: Item) -> tuple[int, float]:
    return (COSTLY.index(item.finding.verdict), -item.finding.weight)


def _costs(finding: Finding) -> bool:
    return finding.verdict in COSTLY and not is_unseen(finding)


def _is_root(finding: Finding) -> bool:
    return _costs(finding) and finding.caused_by is None


def _places(result: Result) -> Iterable[tuple[Place, Finding]]:
    for finding in result.host.findings:
        yield Place(HOST, HOST), finding
    for board in result.boards:
        if board.selected:
            place = Place(board.key, label(board))
            for finding in board.findings:
                yield place, finding


def _items(roots: Sequence[tuple[Place, Finding]], everything: Sequence[tuple[Place, Finding]]) -> tuple[Item, ...]:
    groups: dict[tuple[str, str, str | None], list[tuple[Place, Finding]]] = {}
    for place, finding in roots:
        groups.setdefault((finding.rule, finding.verdict, finding.missing), []).append((place, finding))
    at_place: dict[str, list[Finding]] = {}
    for place, finding in everything:
        at_place.setdefault(place.key, []).append(finding)
    items = []
    for group in groups.values():
        explained: dict[str, None] = {}
        for place, finding in group:
            # What the host's finding explains may stand at any board.
            keys = list(at_place) if place.key == HOST else [place.key]
            for key in keys:
                for other in explained_by(at_place.get(key, []), finding):
                    if _costs(other):
                        explained[other.rule] = None
        items.append(
            Item(
                finding=group[0][1],
                places=tuple(place for place, _ in group),
                each=tuple(group),
                explains=tuple(explained),
            )
        )
    return tuple(items)


def _unseen(findings: Iterable[Finding]) -> Iterable[Unseen]:
    groups: dict[str, dict[str, None]] = {}
    for finding in findings:
        if is_unseen(finding):
            groups.setdefault(finding.reason, {})[finding.rule] = None
    for why, rules in groups.items():
        yield Unseen(why.partition(": ")[2] or why, tuple(rules))
