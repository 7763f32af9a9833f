"""A judged run as one HTML file: no network, no script, readable on paper, on a phone and without colour.

What the page shows is prepared here; the template only lays it out. Jinja escapes all that a machine printed, after
`plain` made it harmless.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import jinja2
from markupsafe import Markup

from boardops.evaluate import Finding
from boardops.facts import Board, Evidence, Fault, Host, Missing, Process, Value, elsewhere, flatten, known
from boardops.locate import shipped
from boardops.quantities import show
from boardops.report import json as json_report
from boardops.report.plain import plain
from boardops.report.text import count, places, reasons, score_words
from boardops.report.view import COSTLY, explained_by, is_unseen, label, reason_of, view, worst_finding
from boardops.score import BoardResult, Result

MANY_BOARDS = 64
"""Above this number ready boards have a row and no card."""
SHAPES = {"ready": "✓", "degraded": "▲", "unknown": "?", "not-ready": "✗"}
VERDICT_SHAPES = {"fail": "✗", "unknown": "?", "warn": "▲", "pass": "✓", "skipped": "–", "waived": "~"}


@dataclass(frozen=True, slots=True)
class Line:
    """One finding in a card, with the findings that it explains."""

    finding: Finding
    sources: tuple[str, ...]
    explains: tuple[Finding, ...]


@dataclass(frozen=True, slots=True)
class Bar:
    """One row of a waterfall, in percent of the whole width."""

    rule: str
    why: str
    points: float
    left: float


@dataclass(frozen=True, slots=True)
class Row:
    """One fact for people."""

    name: str
    shown: str
    missing: str | None
    description: str


@dataclass(frozen=True, slots=True)
class Card:
    """All that is shown of one board, or of the host."""

    key: str
    title: str
    subtitle: str
    readiness: str
    score: str
    bars: tuple[Bar, ...]
    lines: tuple[Line, ...]
    notes: tuple[Finding, ...]
    waived: tuple[Finding, ...]
    unseen: tuple[Finding, ...]
    passed: tuple[Finding, ...]
    skipped: tuple[Finding, ...]
    facts: tuple[Row, ...]
    processes: tuple[Process, ...]


def render(result: Result) -> str:
    """The report as one self-contained HTML file."""
    shown = view(result)
    sources = {entry.id: _source(entry) for entry in result.evidence}
    cards = [_board_card(board, sources) for board in shown.boards]
    few = len(cards) <= MANY_BOARDS
    return (
        _environment()
        .get_template("report.html.j2")
        .render(
            result=result,
            hostname="" if isinstance(result.host.facts.hostname, Missing) else result.host.facts.hostname,
            view=shown,
            score=score_words(result.score, result.coverage),
            strip=[_cell(board, result) for board in sorted(shown.boards, key=lambda board: board.key)],
            items=[(item, places(item.places), list(reasons(item.each))) for item in shown.items],
            notes=[(item, places(item.places), list(reasons(item.each))) for item in shown.notes],
            cards=[card for card in cards if few or card.readiness != "ready"],
            folded=[card for card in cards if not few and card.readiness == "ready"],
            host=_host_card(result, sources),
            embedded=_embedded(result),
        )
    )


@functools.cache
def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(shipped("templates")),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["count"] = count
    environment.globals.update(shapes=SHAPES, verdict_shapes=VERDICT_SHAPES)
    # Every value that is not marked as safe goes through `plain` and is then escaped.
    environment.finalize = _finalize
    return environment


def _finalize(value: Any) -> Any:
    return plain(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _embedded(result: Result) -> Markup:
    """The JSON report for a script element: nothing in it can end the element."""
    text = json.dumps(json.loads(json_report.render(result)), ensure_ascii=True, separators=(",", ":"))
    return Markup(text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026"))  # noqa: S704 - escaped here


def _source(entry: Evidence) -> str:
    return f"{entry.source} ({entry.origin}{', ' + entry.read_at if entry.read_at else ''})"


def _cell(board: BoardResult, result: Result) -> dict[str, str]:
    worst = worst_finding(board, result.host.findings)
    return {
        "key": board.key,
        "label": label(board),
        "readiness": board.readiness,
        "score": "–" if board.score is None else f"{board.score:g}",
        "title": f"{label(board)}: {board.readiness}, {score_words(board.score, board.coverage)}"
        + (f"; {said}" if (said := reason_of(board, worst)) else ""),
    }


def _board_card(board: BoardResult, sources: dict[str, str]) -> Card:
    about = [str(value) for value in (board.facts.serial, board.uuid) if isinstance(value, str)]
    processes = board.facts.processes
    return _card(
        key=board.key,
        title=f"{label(board)}  {board.model or board.vendor or ''}",
        subtitle=", ".join([*about, *([f"left alone: {why}"] if (why := elsewhere(board.facts)) else [])]),
        readiness=board.readiness,
        score=score_words(board.score, board.coverage),
        bars=_bars(board),
        findings=board.findings,
        facts=board.facts,
        processes=() if isinstance(processes, Missing) else processes,
        sources=sources,
    )


def _host_card(result: Result, sources: dict[str, str]) -> Card:
    host = result.host
    return _card(
        key="host",
        title="Host",
        subtitle="its findings count for every board that they concern",
        readiness=host.readiness,
        score="",
        bars=(),
        findings=host.findings,
        facts=host.facts,
        processes=(),
        sources=sources,
    )


def _card(
    *,
    key: str,
    title: str,
    subtitle: str,
    readiness: str,
    score: str,
    bars: tuple[Bar, ...],
    findings: Sequence[Finding],
    facts: Board | Host,
    processes: tuple[Process, ...],
    sources: dict[str, str],
) -> Card:
    here = {finding.rule for finding in findings}
    costly = [f for f in findings if f.verdict in COSTLY and not is_unseen(f)]
    # One that a finding elsewhere explains (the host's) has no line here to be folded under, so it stands alone.
    roots = [f for f in costly if f.caused_by is None or f.caused_by not in here]
    return Card(
        key=key,
        title=title,
        subtitle=subtitle,
        readiness=readiness,
        score=score,
        bars=bars,
        lines=tuple(
            Line(f, _sources_of(f, sources), tuple(x for x in explained_by(findings, f) if x in costly))
            for f in sorted(roots, key=lambda f: (COSTLY.index(f.verdict), -f.weight))
        ),
        notes=tuple(f for f in findings if f.note),
        waived=tuple(f for f in findings if f.verdict == "waived"),
        unseen=tuple(f for f in findings if is_unseen(f)),
        passed=tuple(f for f in findings if f.verdict == "pass"),
        skipped=tuple(f for f in findings if f.verdict == "skipped"),
        facts=tuple(_rows("host" if isinstance(facts, Host) else "board", facts)),
        processes=processes,
    )


def _sources_of(finding: Finding, sources: dict[str, str]) -> tuple[str, ...]:
    return tuple(sources[id] for id in finding.evidence if id in sources)


def _bars(board: BoardResult) -> tuple[Bar, ...]:
    bars, left = [], 100.0
    for row in board.waterfall:
        left -= row.points
        bars.append(Bar(row.rule, row.why, row.points, round(max(0.0, left), 1)))
    return tuple(bars)


def _rows(subject: str, facts: Board | Host) -> Iterable[Row]:
    for name, value in flatten(facts).items():
        fact = known()[f"{subject}.{name}"]
        if isinstance(value, Missing):
            yield Row(fact.name, f"{value.kind}: {value.why}", value.kind, fact.description)
        else:
            yield Row(fact.name, _shown(value, fact.unit), None, fact.description)


def _shown(value: Value, unit: str) -> str:
    if isinstance(value, tuple) and value and isinstance(value[0], (Process, Fault)):
        return f"{len(value)} entries"
    return show(value, unit)
