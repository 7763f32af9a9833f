"""A judged run as text for a terminal: worst first, readable without colour, never wider than the terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from boardops.evaluate import Finding
from boardops.facts import Missing
from boardops.report.columns import cut, pad, width_of, wrap
from boardops.report.plain import plain
from boardops.report.view import HOST, Item, Place, View, label, reason_of, view, worst_finding
from boardops.score import BoardResult, Readiness, Result

MIN_WIDTH, MAX_WIDTH = 40, 200
COLOURS = {"ready": "32", "degraded": "33", "unknown": "35", "not-ready": "31"}
VERDICT_COLOURS = {"fail": "31", "unknown": "35", "warn": "33"}
SYMBOLS = {"ready": "✓", "degraded": "▲", "unknown": "?", "not-ready": "✗"}
PLAIN_SYMBOLS = {"ready": "+", "degraded": "!", "unknown": "?", "not-ready": "x"}
MAX_PLACES = 6


class _Page:
    """Lines of a report with what they need to know of the terminal."""

    def __init__(self, width: int, colour: bool, ascii_: bool) -> None:
        self.width = max(MIN_WIDTH, min(MAX_WIDTH, width))
        self.colour = colour
        self.ascii = ascii_
        self.lines: list[str] = []

    def paint(self, text: str, code: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self.colour and code else text

    def symbol(self, readiness: Readiness) -> str:
        return (PLAIN_SYMBOLS if self.ascii else SYMBOLS)[readiness]

    def add(self, text: str, indent: str = "", hang: str | None = None) -> None:
        """A paragraph, wrapped."""
        rest = hang if hang is not None else " " * width_of(indent)
        self.lines += wrap(text, self.width, indent, rest)

    def blank(self) -> None:
        self.lines.append("")

    def head(self, text: str) -> None:
        self.blank()
        self.lines.append(self.paint(text, "1"))


def render(result: Result, *, width: int = 100, colour: bool = False, ascii: bool = False) -> str:
    """The report as text in at most `width` columns (40 to 200). `ascii` leaves out all other characters."""
    page = _Page(width, colour, ascii)
    shown = view(result)
    _headline(page, result, shown)
    _boards(page, result, shown)
    _items(page, shown)
    _notes(page, shown)
    _waived(page, shown)
    _unseen(page, result, shown)
    text = "\n".join(page.lines) + "\n"
    return text.encode("ascii", "backslashreplace").decode() if ascii else text


def _headline(page: _Page, result: Result, shown: View) -> None:
    state = f"{page.symbol(result.readiness)} {result.readiness.upper()}"
    words = f"{score_words(result.score, result.coverage)}, usable {result.usable} of {shown.selected}"
    lines = wrap(words, page.width, f"{state}  ", "  ")
    page.lines += [page.paint(state, f"1;{COLOURS[result.readiness]}") + lines[0][len(state) :], *lines[1:]]
    facts = result.host.facts
    where = "" if isinstance(facts.hostname, Missing) else f"{plain(facts.hostname)}, "
    page.add(
        f"{where}{result.intent}, {result.profile}, judged at {result.judged_at}, rules {result.rules.digest[:12]}"
    )
    if result.partial:
        page.add(f"partial: {plain(result.partial)}")
    if result.cause:
        page.add(f"cause: {plain(result.cause)}")


def score_words(score: float | None, coverage: float) -> str:
    """A score with its coverage, never without."""
    number = "no score" if score is None else f"score {score:g} of 100"
    return f"{number} at {coverage:.0%} coverage"


def _boards(page: _Page, result: Result, shown: View) -> None:
    if not shown.boards:
        return
    page.blank()
    rows = [_row(page, board, result.host.findings) for board in shown.boards]
    widths = [max(width_of(row[column]) for row in rows) for column in range(len(rows[0]) - 1)]
    for board, row in zip(shown.boards, rows, strict=True):
        cells = [pad(text, width) for text, width in zip(row, widths, strict=False)]
        line = cut("  ".join([*cells, row[-1]]).rstrip(), page.width, "..." if page.ascii else "…")
        state = cells[0]
        page.lines.append(page.paint(line[: len(state)], COLOURS[board.readiness]) + line[len(state) :])


def _row(page: _Page, board: BoardResult, host: Sequence[Finding]) -> tuple[str, ...]:
    finding = worst_finding(board, host)
    score = "  -" if board.score is None else f"{board.score:>5g}"
    return (
        f"{page.symbol(board.readiness)} {board.readiness}",
        f"{score} ({board.coverage:.0%})",
        label(board),
        plain(board.model or board.vendor or "unknown model"),
        plain(reason_of(board, finding)),
    )


def _items(page: _Page, shown: View) -> None:
    if not shown.items:
        return
    page.head("What to do")
    for item in shown.items:
        _item(page, item)


def _item(page: _Page, item: Item) -> None:
    finding = item.finding
    page.blank()
    head = pad(finding.verdict.upper(), 7)
    lines = wrap(f"{plain(finding.rule)}  {places(item.places)}", page.width, f"{head} ", " " * 8)
    page.lines.append(page.paint(head, f"1;{VERDICT_COLOURS[finding.verdict]}") + lines[0][len(head) :])
    page.lines += lines[1:]
    for text in reasons(item.each):
        page.add(plain(text), " " * 8)
    if finding.remedy.action != "none" or finding.verdict != "unknown":
        page.add(f"{finding.remedy.action}: {plain(finding.remedy.text)}", " " * 8 + "-> ", " " * 11)
    if item.explains:
        page.add(f"explains {len(item.explains)} more: {plain(', '.join(item.explained))}", " " * 8)


def places(where: Sequence[Place]) -> str:
    """Where a finding stands: `host`, one board, or several."""
    if where[0].key == HOST:
        return HOST
    named = ", ".join(plain(place.label) for place in where[:MAX_PLACES])
    more = f" and {len(where) - MAX_PLACES} more" if len(where) > MAX_PLACES else ""
    return f"{len(where)} boards: {named}{more}" if len(where) > 1 else named


def reasons(each: Sequence[tuple[Place, Finding]]) -> Iterator[str]:
    """What was found, once where all places say the same, else for each."""
    texts = list(dict.fromkeys(_reason(finding) for _, finding in each))
    if len(texts) == 1:
        yield texts[0]
        return
    for place, finding in each[:MAX_PLACES]:
        yield f"{place.label}: {_reason(finding)}"
    if len(each) > MAX_PLACES:
        yield f"and {len(each) - MAX_PLACES} more"


def count(number: int, what: str) -> str:
    """A number of things.

    >>> count(1, "rule"), count(2, "rule")
    ('1 rule', '2 rules')
    """
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def _reason(finding: Finding) -> str:
    reason = finding.note or finding.reason
    if finding.verdict == "unknown":
        return f"{finding.title}: cannot tell ({reason})"
    return reason


def _notes(page: _Page, shown: View) -> None:
    if not shown.notes:
        return
    page.head("Notes")
    for item in shown.notes:
        where = "" if item.places[0].key == HOST else f" ({places(item.places)})"
        page.add(f"{plain(item.finding.note or '')}{where}", "  ", "    ")


def _waived(page: _Page, shown: View) -> None:
    if not shown.waived:
        return
    page.head("Waived")
    for item in shown.waived:
        waived = item.finding.waived
        assert waived is not None
        ticket = f", {waived.ticket}" if waived.ticket else ""
        page.add(
            plain(
                f"{waived.verdict} {item.finding.rule} ({places(item.places)}): {item.finding.reason}; until "
                f"{waived.until} by {waived.owner}{ticket}: {waived.reason}"
            ),
            "  ",
            "    ",
        )


def _unseen(page: _Page, result: Result, shown: View) -> None:
    lines = [
        f"{count(len(group.rules), 'rule')} not judged: {group.why} ({', '.join(group.rules)})"
        for group in shown.unseen
    ]
    lines += [
        f"{entry.origin}: {entry.outcome}{', ' + entry.why if entry.why else ''}"
        for entry in result.evidence
        if entry.outcome not in {"ok", "not-installed"}  # Findings tell where something that is needed is missing.
    ]
    if lines:
        page.head("Not seen")
        for line in lines:
            page.add(plain(line), "  ", "    ")
