"""One run of `boardops check` without its command line: sources, facts, rules, result.

The only module that walks the whole road. Clock and disk are touched by the sources; everything behind them is pure.
"""

from __future__ import annotations

import datetime
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from time import monotonic

from msgspec import Struct
from msgspec.structs import replace

from boardops import __version__
from boardops.budget import LEAST_SECONDS
from boardops.cli.request import SITE_RULES, Request, begin, intent_of
from boardops.cli.selection import left_out_by, read_needs, select_boards
from boardops.cli.sources import Sources, live, stamp
from boardops.derive import derive
from boardops.errors import BoardopsError
from boardops.evaluate import evaluate
from boardops.facts import Board, Facts, Host, Missing
from boardops.growth import Baseline, add_growth, baselines_of
from boardops.locate import shipped
from boardops.rule import RuleSet
from boardops.ruleset import rules_in_force
from boardops.score import (
    SCHEMA,
    HostResult,
    Readiness,
    Result,
    RuleFiles,
    coverage_of,
    host_readiness,
    readiness_of,
    score_boards,
    worst,
)
from boardops.worker import Running


class Performed(Struct, frozen=True):
    """A judged run, and its evidence as a record where the request wants it."""

    result: Result
    record: str | None


def perform(request: Request, clock: Callable[[], datetime.datetime]) -> Result:
    """Judge what was asked for. Raises BoardopsError for what the user must mend."""
    with begin(request) as running:
        return perform_with(running, request, clock).result


def perform_with(running: Running, request: Request, clock: Callable[[], datetime.datetime]) -> Performed:
    """Judge what was asked for, with the programs that `begin` started. Raises BoardopsError as `perform` does."""
    started, begun = clock(), monotonic()
    rules = rules_in_force(rule_layers(request.rules, request.site_rules))
    left_out = left_out_by(rules, request.only, request.skip)
    needs = read_needs(request.needs)
    sources = _from_files(request) if request.files else live(request, running, stamp(started))
    request = replace(request, intent=request.intent or sources.intent or "predeploy")
    needs = needs if request.needs else read_needs(sources.needs)
    at = request.at or _time(sources.read_at) or started
    host_values = {**sources.host, **needs, "intent": intent_of(request)}
    left = max(request.budget.total_seconds - (monotonic() - begun), LEAST_SECONDS)
    before, sources = _baseline(request.baseline, sources, left) if request.baseline else (None, sources)
    host_values, grown = add_growth(host_values, sources.boards, before)
    host, boards = derive(host_values, grown, at)
    facts = Facts(host, boards, sources.evidence, sources.read_from)
    result = judge(facts, rules, at, left_out, request, sources, before)
    return Performed(replace(result, started_at=stamp(started), seconds=round(monotonic() - begun, 3)), sources.record)


def _from_files(request: Request) -> Sources:
    from boardops.cli.files import from_files

    return from_files(request.files, request.budget.total_seconds)


def _baseline(name: str, now: Sources, seconds: float) -> tuple[Baseline | Missing, Sources]:
    """The earlier run, or why there is none: that costs what has grown since then, and nothing else of this run."""
    from boardops.cli.files import baseline_of
    from boardops.evidence import failed

    try:
        return baseline_of(name, now, seconds), now
    except BoardopsError as error:
        entry = replace(failed(1, name, str(error)), id="baseline-1", source="baseline")
        return Missing("unreadable", str(error)), replace(now, evidence=(*now.evidence, entry))


def judge(
    facts: Facts,
    rules: RuleSet,
    at: datetime.datetime,
    left_out: Mapping[str, str],
    request: Request,
    sources: Sources,
    before: Baseline | Missing | None = None,
) -> Result:
    """Facts and rules into a result; a pure function of its arguments."""
    findings = evaluate(
        facts, rules, at, left_out, baselines_of(before) if isinstance(before, Baseline) else None, request.language
    )
    selected = select_boards(facts.boards, request.boards)
    boards = score_boards(facts, findings, rules.scoring, selected)
    host_state = readiness_of(findings.host, rules.scoring, floor=False)
    chosen = [board for board in boards if board.selected]
    scores = [board.score for board in chosen if board.score is not None]
    readiness = host_readiness(boards, host_state)
    cause = _cause(facts.boards, sources, readiness)
    if sources.unread:
        readiness = worst((readiness, "unknown"))
    return Result(
        schema=SCHEMA,
        tool_version=__version__,
        rules=RuleFiles(rules.files, rules.digest),
        started_at="",
        judged_at=stamp(at),
        seconds=0.0,
        profile=request.profile,
        intent=intent_of(request),
        partial="; ".join((*sources.partial, *_partial(request))) or None,
        readiness=readiness,
        cause=cause,
        usable=sum(board.readiness in {"ready", "degraded"} for board in chosen),
        score=min(scores, default=None),
        coverage=min((board.coverage for board in chosen), default=round(coverage_of(findings.host), 3)),
        host=HostResult(host_state, findings.host, facts.host),
        boards=boards,
        evidence=facts.evidence,
    )


def without_facts(cause: str, request: Request, at: datetime.datetime) -> Result:
    """The result of a run that could not see anything, so that a report arrives all the same."""
    return Result(
        schema=SCHEMA,
        tool_version=__version__,
        rules=RuleFiles((), ""),
        started_at=stamp(at),
        judged_at=stamp(request.at or at),
        seconds=0.0,
        profile=request.profile,
        intent=intent_of(request),
        partial=None,
        readiness="unknown",
        cause=cause,
        usable=0,
        score=None,
        coverage=0.0,
        host=HostResult("unknown", (), Host()),
        boards=(),
        evidence=(),
    )


def _cause(boards: Sequence[Board], sources: Sources, readiness: Readiness) -> str | None:
    if sources.unread:
        return "; ".join(sources.unread)
    if boards:
        return None
    hung = [entry.why for entry in sources.evidence if entry.outcome in {"hung", "timed-out", "crashed", "failed"}]
    return "no board was seen" + (f": {hung[0]}" if hung else "") if readiness != "ready" else None


def _partial(request: Request) -> Iterable[str]:
    if request.only:
        yield f"only rules {', '.join(request.only)}"
    if request.skip:
        yield f"without rules {', '.join(request.skip)}"


def rule_layers(files: Iterable[str], site: str | os.PathLike[str] = SITE_RULES) -> list[tuple[str, str]]:
    """The rule files as (name, text): the shipped one, those of the site in order of their names, those asked for."""
    try:
        own = shipped("rules.yaml")
        # The shipped file is named without its folder: a report tells nothing of where boardops lies.
        return [
            ("rules.yaml", _rule_text(own)),
            *((path if path != own else "rules.yaml", _rule_text(path)) for path in (*_site_files(site), *files)),
        ]
    except OSError as error:
        raise BoardopsError(f"cannot read {error.filename or 'the rules'}: {error.strerror or error}") from None


def _site_files(site: str | os.PathLike[str]) -> list[str]:
    try:
        return sorted(f"{os.fspath(site)}/{name}" for name in os.listdir(site) if name.endswith(".yaml"))
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return []


def _rule_text(path: str) -> str:
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except UnicodeDecodeError as error:
        raise BoardopsError(f"{path} is not UTF-8 text: {error.reason} at byte {error.start}") from None


def _time(text: str | None) -> datetime.datetime | None:
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00")) if text else None
