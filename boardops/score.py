"""Findings into score, coverage and readiness, and the result that reports are made of.

The result's types are the JSON report: names and nesting are a contract. Called by the command line after evaluate;
knows no rule and no fact by name, except that BMC and check facts stay out of the coverage floor.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

from msgspec import Struct

from boardops.evaluate import Finding, Findings
from boardops.facts import Board, Evidence, Facts, Host, board_key, elsewhere
from boardops.rule import Scoring

Readiness = Literal["ready", "degraded", "unknown", "not-ready"]
ORDER: tuple[Readiness, ...] = ("ready", "degraded", "unknown", "not-ready")
"""From best to worst."""
SCHEMA = "boardops.report/1"
_EARNED = {"pass": 1.0, "warn": 0.5, "fail": 0.0}
OUTSIDE_FLOOR = ("host.thermal.", "board.check.", "host.software.torch")


class Row(Struct, frozen=True):
    """One row of a waterfall: the points that a finding, or the cap, takes."""

    rule: str
    points: float
    why: str


class BoardResult(Struct, frozen=True):
    """One judged board."""

    key: str
    vendor: str | None
    model: str | None
    pci_address: str | None
    uuid: str | None
    selected: bool
    readiness: Readiness
    score: float | None
    coverage: float
    waterfall: tuple[Row, ...]
    findings: tuple[Finding, ...]
    facts: Board


class HostResult(Struct, frozen=True):
    """The judged host without its boards."""

    readiness: Readiness
    findings: tuple[Finding, ...]
    facts: Host


class RuleFiles(Struct, frozen=True):
    """Which rules were used."""

    files: tuple[str, ...]
    digest: str


class Result(Struct, frozen=True):
    """A judged run: the JSON report."""

    schema: str
    tool_version: str
    rules: RuleFiles
    started_at: str
    judged_at: str
    seconds: float
    profile: str
    intent: str
    partial: str | None
    """What was read where not all sources were, such as `nvidia-smi XML only`."""
    readiness: Readiness
    cause: str | None
    """For `unknown`, where one thing is to blame: a sentence."""
    usable: int
    """Selected boards that are ready or degraded."""
    score: float | None
    coverage: float
    host: HostResult
    boards: tuple[BoardResult, ...]
    evidence: tuple[Evidence, ...]


def earned(finding: Finding) -> float | None:
    """The share of its weight that a finding earns; None where it stays out of the score."""
    return _EARNED.get(finding.verdict)


def raw_score(findings: Iterable[Finding]) -> float | None:
    """100 x weight earned over weight judged, before any cap. None where nothing was judged."""
    total = gained = 0.0
    for finding in findings:
        share = earned(finding)
        if share is not None:
            total += finding.weight
            gained += finding.weight * share
    return 100 * gained / total if total else None


def cap_of(findings: Iterable[Finding], scoring: Scoring) -> float:
    """The highest score that the findings allow: the lowest of their caps, 100 where nothing is wrong."""
    caps = [100.0]
    for finding in findings:
        own = finding.cap
        if finding.verdict == "fail":
            # Never above the cap of a warning: a failure cannot cost less than a warning does.
            caps.append(min(scoring.cap_fail if own is None else own, scoring.cap_warn))
        elif finding.verdict == "warn":
            caps.append(scoring.cap_warn if own is None or finding.severity == "fail" else own)
    return min(caps)


def score_of(findings: Sequence[Finding], scoring: Scoring) -> float | None:
    """The score, 0 to 100 with one decimal; None where nothing was judged."""
    raw = raw_score(findings)
    return None if raw is None else _tenths(min(raw, cap_of(findings, scoring))) / 10


def _tenths(points: float) -> int:
    """Points in whole tenths; the one place that rounds, so that score and waterfall never differ."""
    return round(10 * points)


def waterfall_of(findings: Sequence[Finding], scoring: Scoring) -> tuple[Row, ...]:
    """Where the points went: a row for each finding that costs some, then one for the cap.

    The rows add up to 100 minus the score exactly, in tenths of a point.
    """
    score = score_of(findings, scoring)
    if score is None:
        return ()
    judged = [finding for finding in findings if earned(finding) is not None]
    total = sum(finding.weight for finding in judged)
    costly = [finding for finding in judged if finding.verdict in {"warn", "fail"}]
    losses = [1000 * finding.weight * (1 - (earned(finding) or 0)) / total for finding in costly]
    raw = raw_score(findings)
    before_cap = 1000 - _tenths(raw if raw is not None else 0)
    tenths = _apportion(losses, before_cap)
    rows = [
        Row(finding.rule, points / 10, finding.reason) for finding, points in zip(costly, tenths, strict=True) if points
    ]
    rows.sort(key=lambda row: -row.points)
    rest = 1000 - _tenths(score) - before_cap
    if rest:
        cap = cap_of(findings, scoring)
        worst = "fail" if any(finding.verdict == "fail" for finding in costly) else "warning"
        rows.append(Row("cap", rest / 10, f"with a {worst} the score is at most {cap:g}"))
    return tuple(rows)


def _apportion(parts: Sequence[float], total: int) -> list[int]:
    """Whole numbers near `parts` that add up to `total`: the largest remainders are rounded up."""
    whole = [int(part) for part in parts]
    by_remainder = sorted(range(len(parts)), key=lambda i: whole[i] - parts[i])
    for i in by_remainder[: max(0, total - sum(whole))]:
        whole[i] += 1
    return whole


def coverage_of(findings: Iterable[Finding]) -> float:
    """The share of rule weight that could be judged; 0 where there is none.

    Skipped and waived rules leave both sides.
    """
    judged = unseen = 0.0
    for finding in findings:
        if earned(finding) is not None:
            judged += finding.weight
        elif finding.verdict == "unknown":
            unseen += finding.weight
    total = judged + unseen
    return judged / total if total else 0.0


def in_floor(finding: Finding) -> bool:
    """Whether a finding counts for the coverage floor: not what was left out on purpose, nor BMC and torch."""
    return finding.missing != "not-collected" and not finding.fact.startswith(OUTSIDE_FLOOR)


def readiness_of(findings: Sequence[Finding], scoring: Scoring, floor: bool = True) -> Readiness:
    """The readiness of a board (with the floor) or of the host alone (without)."""
    verdicts = {finding.verdict for finding in findings}
    if "fail" in verdicts:
        return "not-ready"
    if any(finding.verdict == "unknown" and finding.required for finding in findings):
        return "unknown"
    if floor and coverage_of(finding for finding in findings if in_floor(finding)) < scoring.coverage_floor:
        return "unknown"
    return "degraded" if "warn" in verdicts else "ready"


def worst(states: Iterable[Readiness]) -> Readiness:
    """The worst of several; `unknown` where there is none."""
    return max(states, key=ORDER.index, default="unknown")


def concerning(host: Iterable[Finding], vendor: str | None) -> tuple[Finding, ...]:
    """The host's findings that concern a board of this vendor."""
    return tuple(finding for finding in host if finding.vendor in {None, vendor})


def score_boards(
    facts: Facts, findings: Findings, scoring: Scoring, selected: Sequence[bool]
) -> tuple[BoardResult, ...]:
    """Every board judged with its own findings and those of the host that concern it."""
    results = []
    for board, own, chosen in zip(facts.boards, findings.boards, selected, strict=True):
        vendor = board.vendor if isinstance(board.vendor, str) else None
        everything = (*own, *concerning(findings.host, vendor))
        results.append(
            BoardResult(
                key=board_key(board),
                vendor=vendor,
                model=board.model if isinstance(board.model, str) else None,
                pci_address=board.pci_address if isinstance(board.pci_address, str) else None,
                uuid=board.uuid if isinstance(board.uuid, str) else None,
                selected=chosen,
                # Nobody looked into a board that is not ours to use.
                readiness="unknown" if elsewhere(board) else readiness_of(everything, scoring),
                score=None if elsewhere(board) else score_of(everything, scoring),
                coverage=round(coverage_of(everything), 3),
                waterfall=() if elsewhere(board) else waterfall_of(everything, scoring),
                findings=own,
                facts=board,
            )
        )
    return tuple(results)


def host_readiness(boards: Sequence[BoardResult], host: Readiness) -> Readiness:
    """The readiness of the whole host: that of its worst selected board; without any, never better than unknown."""
    states = [board.readiness for board in boards if board.selected]
    return worst(states) if states else worst(("unknown", host))
