"""A judged run as Markdown for a ticket: the verdict and what to do first, then the boards, then the details."""

from __future__ import annotations

import re
from collections.abc import Iterator

from boardops.evaluate import Finding
from boardops.facts import Missing
from boardops.report.plain import plain
from boardops.report.text import count, places, reasons, score_words
from boardops.report.view import HOST, Item, View, label, reason_of, view, worst_finding
from boardops.score import BoardResult, Result

_SPECIAL = re.compile(r"([\\`*_\[\]|<>~$])")
_AT_START = re.compile(r"^(\d*)([#+.)-])")


def escape(text: str) -> str:
    r"""Text of a machine as Markdown that shows it and does nothing.

    >>> print(escape("# a|b <b> `c` @d"))
    \# a\|b \<b\> \`c\` &#64;d
    """
    shown = plain(text).replace("&", "&amp;").replace("@", "&#64;")
    return _AT_START.sub(r"\1\\\2", _SPECIAL.sub(r"\\\1", shown))


def render(result: Result) -> str:
    """The report as GitHub Markdown."""
    shown = view(result)
    blocks = [
        *_headline(result, shown),
        *_items(shown),
        *_board_table(result, shown),
        *_notes(shown),
        *_waived(shown),
        *_unseen(shown),
        *_details(result, shown),
        *_evidence(result),
    ]
    return "\n\n".join(blocks) + "\n"


def _headline(result: Result, shown: View) -> Iterator[str]:
    host = result.host.facts.hostname
    where = "" if isinstance(host, Missing) else f"{escape(host)}: "
    yield f"# {where}{result.readiness}"
    lines = [
        f"- **Score**: {score_words(result.score, result.coverage)}",
        f"- **Usable boards**: {result.usable} of {shown.selected}",
    ]
    if result.partial:
        lines.append(f"- **Partial**: {escape(result.partial)}")
    if result.cause:
        lines.append(f"- **Cause**: {escape(result.cause)}")
    lines.append(f"- **Judged**: as of {result.judged_at}, intent {result.intent}, profile {result.profile}")
    lines.append(f"- **By**: boardops {result.tool_version}, rules `{result.rules.digest[:12]}`")
    yield "\n".join(lines)


def _items(shown: View) -> Iterator[str]:
    if not shown.items:
        return
    yield "## What to do"
    for item in shown.items:
        yield _item(item)


def _item(item: Item) -> str:
    finding = item.finding
    lines = [f"### {finding.verdict}: {escape(finding.title)} ({escape(places(item.places))})", ""]
    lines += [f"- {escape(text)}" for text in reasons(item.each)]
    lines.append(f"- **{finding.remedy.action}**: {escape(finding.remedy.text)}")
    lines += [f"  {number}. {escape(step)}" for number, step in enumerate(finding.remedy.steps, 1)]
    if item.explains:
        lines.append(f"- explains {len(item.explains)} more: {_named(item.explained)}")
    lines.append(
        f"- rule `{finding.rule}`, limit from: {escape(finding.source.text)} (confidence {finding.source.confidence})"
    )
    return "\n".join(lines)


def _board_table(result: Result, shown: View) -> Iterator[str]:
    if not shown.boards:
        return
    yield "## Boards"
    rows = ["| board | model | readiness | score | coverage | worst finding |", "| --- | --- | --- | --- | --- | --- |"]
    for board in shown.boards:
        finding = worst_finding(board, result.host.findings)
        worst = escape(reason_of(board, finding))
        score = "" if board.score is None else f"{board.score:g}"
        cells = (
            escape(label(board)),
            escape(board.model or ""),
            board.readiness,
            score,
            f"{board.coverage:.0%}",
            worst,
        )
        rows.append(f"| {' | '.join(cells)} |")
    yield "\n".join(rows)


def _notes(shown: View) -> Iterator[str]:
    if shown.notes:
        yield "## Notes"
        yield "\n".join(
            f"- {escape(item.finding.note or '')} ({escape(places(item.places))})"
            if item.places[0].key != HOST
            else f"- {escape(item.finding.note or '')}"
            for item in shown.notes
        )


def _waived(shown: View) -> Iterator[str]:
    if not shown.waived:
        return
    yield "## Waived"
    lines = []
    for item in shown.waived:
        waived = item.finding.waived
        assert waived is not None
        lines.append(
            f"- {waived.verdict} `{item.finding.rule}` ({escape(places(item.places))}): {escape(item.finding.reason)}; "
            f"until {waived.until} by {escape(waived.owner)} {escape(waived.ticket)}: {escape(waived.reason)}"
        )
    yield "\n".join(lines)


def _unseen(shown: View) -> Iterator[str]:
    if shown.unseen:
        yield "## Not judged"
        yield "\n".join(
            f"- {count(len(group.rules), 'rule')}: {escape(group.why)} ({_named(group.rules)})"
            for group in shown.unseen
        )


def _named(rules: tuple[str, ...]) -> str:
    return ", ".join(rule if " " in rule else f"`{rule}`" for rule in rules)


def _details(result: Result, shown: View) -> Iterator[str]:
    yield "## All findings"
    yield _findings("host", result.host.findings)
    for board in shown.boards:
        yield _findings(_board_title(board), board.findings)


def _board_title(board: BoardResult) -> str:
    score = "no score" if board.score is None else f"score {board.score:g}"
    return f"{label(board)} {board.model or ''}: {board.readiness}, {score} at {board.coverage:.0%} coverage"


def _findings(title: str, findings: tuple[Finding, ...]) -> str:
    rows = ["| rule | verdict | found | expected | why |", "| --- | --- | --- | --- | --- |"]
    for finding in findings:
        cells = (
            f"`{finding.rule}`",
            finding.verdict,
            escape(finding.found),
            escape(finding.expected),
            escape(finding.note or finding.reason),
        )
        rows.append(f"| {' | '.join(cells)} |")
    summary = re.sub(r"[^\w .,:%()-]", lambda match: f"&#{ord(match[0])};", plain(title))
    return f"<details>\n<summary>{summary}</summary>\n\n" + "\n".join(rows) + "\n\n</details>"


def _evidence(result: Result) -> Iterator[str]:
    if not result.evidence:
        return
    yield "## Evidence"
    rows = ["| id | source | origin | read at | outcome | why |", "| --- | --- | --- | --- | --- | --- |"]
    for entry in result.evidence:
        cells = (entry.id, entry.source, entry.origin, entry.read_at or "", entry.outcome, entry.why)
        rows.append(f"| {' | '.join(escape(cell) for cell in cells)} |")
    yield "\n".join(rows)
