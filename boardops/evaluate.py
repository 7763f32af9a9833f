"""Facts and rules into findings; findings that one cause explains are folded under it.

A pure function of its arguments. Called by the command line with the facts of a live machine or of files, and by
cases.py with the facts of a rule's case. What the findings add up to is score.py's business.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace as replace_struct

from boardops.compare import (
    AllOf,
    AnyOf,
    Comparison,
    Condition,
    Limit,
    Test,
    holds,
    reference_of,
    resolve,
    words,
)
from boardops.facts import ACTIONS, Board, Facts, Missing, Value, board_key, flatten, known, value_of
from boardops.quantities import show
from boardops.rule import Rule, RuleSet, Source, Waiver, Words

Verdict = Literal["pass", "warn", "fail", "unknown", "skipped", "waived"]
FOLDABLE = ("warn", "fail", "unknown")
HANGS = ("host.hung_sources", "host.stuck_processes")
"""Facts that explain why other facts did not come in time, the one that explains most first."""


class RemedyText(Struct, frozen=True):
    """What to do, in one language."""

    action: str
    text: str
    steps: tuple[str, ...] = ()


class Waived(Struct, frozen=True):
    """The waiver that stands over a finding, and what the finding was without it."""

    verdict: Verdict
    reason: str
    owner: str
    ticket: str
    until: str


class Finding(Struct, frozen=True):
    """What one rule says of one board or of the host."""

    rule: str
    title: str
    verdict: Verdict
    note: str | None
    expected: str
    found: str
    reason: str
    evidence: tuple[str, ...]
    severity: str
    weight: float
    required: bool
    """An unknown here makes the readiness unknown. False for a rule whose source was not read on purpose."""
    caused_by: str | None
    """The rule whose finding explains this one."""
    remedy: RemedyText
    source: Source
    fact: str
    missing: str | None = None
    """In which way the fact is missing, where it is."""
    cap: float | None = None
    """The rule's own cap of the score, where it has one."""
    vendor: str | None = None
    """For a host's finding: the vendor whose boards it concerns; none concerns all."""
    waived: Waived | None = None


class Findings(Struct, frozen=True):
    """The findings of the host and of each board, boards in the order of the facts."""

    host: tuple[Finding, ...]
    boards: tuple[tuple[Finding, ...], ...]


class Judged(Struct, frozen=True):
    """The bare judgement of one rule on one set of facts."""

    verdict: Verdict
    found: str
    expected: str
    reason: str
    """For anything but a pass; for a pass with `noted`, what is worth a remark."""
    noted: bool = False
    missing: Missing | None = None


Lookup = Callable[[str], Value]


def judge(
    rule: Rule, lookup: Lookup, peers: tuple[float, ...] = (), baseline: Value | None = None, language: str = "en"
) -> Judged:
    """What `rule` says of the facts that `lookup` gives by full dotted name.

    `peers` are the values of the rule's fact on the other boards of the same model; `baseline` is its value in the
    last good run of the same board.
    """
    if rule.off is not None:
        return Judged("skipped", "", "", f"switched off: {rule.off}")
    if rule.when is not None:
        outcome = _applies(rule.when, lookup)
        if isinstance(outcome, Missing):
            return _of_missing(rule, outcome, "", "")
        if outcome:
            return Judged("skipped", "", "", outcome)
    fact = known()[rule.fact]
    found = lookup(rule.fact)
    limits = _limits(rule.expect, lookup, peers, baseline)
    expected = words(rule.expect, tuple(limit for limit, _ in limits), fact)
    if isinstance(found, Missing):
        return _of_missing(rule, found, "", expected)
    shown = show(found, fact.unit)
    unseen = _missing_in(limits)
    if unseen is not None:
        return _of_missing(rule, unseen, shown, expected)
    if not all(_holds(c, found, limit, ref, rule) for c, (limit, ref) in zip(rule.expect, limits, strict=True)):
        reason = _say(rule, lookup, shown, expected, language)
        if rule.severity == "note":
            return Judged("pass", shown, expected, reason, noted=True)
        return Judged("fail" if rule.severity == "fail" else "warn", shown, expected, reason)
    # Only now: a warning's limit that nobody could read must not hide a failure.
    warn_limits = _limits(rule.warn, lookup, peers, baseline)
    unseen = _missing_in(warn_limits)
    if unseen is not None:
        return _of_missing(rule, unseen, shown, expected)
    if rule.warn and all(
        _holds(c, found, limit, ref, rule) for c, (limit, ref) in zip(rule.warn, warn_limits, strict=True)
    ):
        expected = words(rule.warn, tuple(limit for limit, _ in warn_limits), fact, against=True)
        return Judged("warn", shown, expected, _say(rule, lookup, shown, expected, language))
    return Judged("pass", shown, expected, "")


Resolved = tuple[Limit | Missing, float | Missing | None]


def _limits(
    comparisons: tuple[Comparison, ...], lookup: Lookup, peers: tuple[float, ...], baseline: Value | None
) -> tuple[Resolved, ...]:
    return tuple(
        (
            resolve(comparison.limit, lookup),
            reference_of(comparison.op, peers, baseline) if comparison.op.startswith("near_") else None,
        )
        for comparison in comparisons
    )


def _missing_in(limits: tuple[Resolved, ...]) -> Missing | None:
    return next((value for pair in limits for value in pair if isinstance(value, Missing)), None)


def _holds(
    comparison: Comparison, found: Value, limit: Limit | Missing, reference: float | Missing | None, rule: Rule
) -> bool:
    assert not isinstance(limit, Missing) and not isinstance(reference, Missing)
    return holds(comparison.op, found, limit, known()[rule.fact], reference)


def _of_missing(rule: Rule, missing: Missing, found: str, expected: str) -> Judged:
    reason = f"{missing.kind}: {missing.why}"
    if missing.kind == "not-supported":
        return Judged("skipped", found, expected, missing.why, missing=missing)
    verdict: Verdict = "unknown"
    # A source that was left out on purpose is no sign of anything; the rule's own word counts where we did look.
    if missing.kind != "not-collected" and rule.if_missing != "unknown":
        verdict = rule.if_missing  # type: ignore[assignment]
    if missing.kind == "not-collected" and rule.if_missing == "skipped":
        verdict = "skipped"
    return Judged(verdict, found, expected, reason, missing=missing)


def _applies(condition: Condition, lookup: Lookup) -> str | Missing:
    """An empty text where the condition holds, else why not, or the Missing that keeps us from knowing."""
    if isinstance(condition, AllOf):
        return _all_hold(condition, lookup)
    outcomes = [_all_hold(part, lookup) for part in condition.parts]
    if "" in outcomes:
        return ""
    missing = [outcome for outcome in outcomes if isinstance(outcome, Missing)]
    unseen = [outcome for outcome in missing if outcome.kind != "not-supported"]
    if unseen:
        return unseen[0]
    reasons = [outcome if isinstance(outcome, str) else outcome.why for outcome in outcomes]
    return "; ".join(reasons)


def _all_hold(condition: AllOf, lookup: Lookup) -> str | Missing:
    missing: Missing | None = None
    for test in condition.tests:
        outcome = _test(test, lookup)
        if isinstance(outcome, str) and outcome:
            return outcome
        if isinstance(outcome, Missing) and (missing is None or missing.kind == "not-supported"):
            missing = outcome
    return missing if missing is not None else ""


def _test(test: Test, lookup: Lookup) -> str | Missing:
    found = lookup(test.fact)
    if isinstance(found, Missing):
        return found
    fact = known()[test.fact]
    limits = tuple(resolve(comparison.limit, lookup) for comparison in test.comparisons)
    for comparison, limit in zip(test.comparisons, limits, strict=True):
        if isinstance(limit, Missing):
            return limit
        if not holds(comparison.op, found, limit, fact):
            name = label(test.fact)
            return f"applies where {name} is {words(test.comparisons, limits, fact)}; it is {show(found, fact.unit)}"
    return ""


def label(fact: str) -> str:
    """A fact's name for a sentence: `board.pcie.link_width_lanes` reads `pcie link width`."""
    parts = fact.split(".")[1:]
    unit = known()[fact].unit
    if unit and parts[-1].endswith(f"_{unit}"):
        parts[-1] = parts[-1][: -len(unit) - 1]
    return " ".join(parts).replace("_", " ")


def _say(rule: Rule, lookup: Lookup, found: str, expected: str, language: str) -> str:
    template = in_language(rule.say, language) if rule.say else "{fact} is {found}, expected {expected}"
    values = {"found": found, "expected": expected, "fact": label(rule.fact), "why": ""}
    for name in ("model", "pci_address"):
        value = lookup(f"board.{name}") if rule.subject == "board" else ""
        values["board" if name == "pci_address" else name] = "" if isinstance(value, Missing) else str(value)
    # Only the known names are replaced, and what is put in is never looked at again.
    return re.sub(
        r"\{([\w.]+)\}", lambda match: _fact_word(match[1], lookup) if "." in match[1] else values[match[1]], template
    )


def _fact_word(name: str, lookup: Lookup) -> str:
    """A fact for a sentence."""
    value = lookup(name)
    return "unknown" if isinstance(value, Missing) else show(value, known()[name].unit)


def in_language(texts: Words, language: str) -> str:
    """The text in a language, or in English where there is none."""
    return texts.get(language, texts["en"])


def evaluate(
    facts: Facts,
    rules: RuleSet,
    at: datetime.datetime,
    left_out: Mapping[str, str] | None = None,
    baselines: Mapping[str, Mapping[str, Value]] | None = None,
    language: str = "en",
) -> Findings:
    """The findings of all rules on all facts.

    `at` is the time that counts for waivers. `left_out` maps rules that were left out to the reason. `baselines` maps a
    board's key, or `host`, to the facts (full dotted names) of its last good run.
    """
    finder = _Finder(facts, left_out or {}, baselines or {}, language)
    asked = [_prepare(rule, language) for rule in rules.rules]
    host = finder.at_host([one for one in asked if one.rule.subject == "host"])
    of_boards = [one for one in asked if one.rule.subject == "board"]
    by_id = {rule.id: rule for rule in rules.rules}
    folded_host = _fold(host, {}, by_id)
    hostname = facts.host.hostname if isinstance(facts.host.hostname, str) else ""
    waive = _waiver_of(rules.waivers, at.date(), hostname)
    boards = []
    for board in facts.boards:
        key = board_key(board)
        folded = _fold(finder.at_board(of_boards, board, key), _concerning(folded_host, board), by_id)
        boards.append(tuple(waive(finding, key) for finding in folded))
    return Findings(
        (*(waive(finding, "") for finding in folded_host), *_expired(rules.waivers, at.date(), hostname)),
        tuple(boards),
    )


class _Asked(Struct, frozen=True):
    """A rule with what is the same for all boards."""

    rule: Rule
    names: tuple[str, ...]
    """All facts that it looks at, by full dotted name."""
    compares: bool
    """Whether it looks at other boards or at an earlier run."""
    title: str
    remedy: RemedyText


class _Finder:
    """Finds what rules say of one host and its boards; what they say of boards that are alike, it finds once."""

    def __init__(
        self,
        facts: Facts,
        left_out: Mapping[str, str],
        baselines: Mapping[str, Mapping[str, Value]],
        language: str,
    ) -> None:
        self._facts, self._left_out, self._baselines, self._language = facts, left_out, baselines, language
        self._host = flatten(facts.host, "host.")
        container = facts.host.container
        self._see_again = _SEE_AGAIN_IN_CONTAINER if isinstance(container, str) and container != "none" else _SEE_AGAIN
        self._alike: dict[tuple[object, ...], Judged] = {}

    def at_host(self, asked: Iterable[_Asked]) -> tuple[Finding, ...]:
        """The findings of rules for the host."""
        vendors = {board.vendor for board in self._facts.boards}
        findings = []
        for one in asked:
            vendor = one.rule.vendor
            if vendor and vendors and vendor not in vendors:
                # Without any board nobody knows which vendor's boards should be here.
                skipped = Judged("skipped", "", "", f"no {vendor} board is here")
                findings.append(_finding(one, skipped, (), one.remedy))
            else:
                findings.append(self._find(one, "host", self._host.__getitem__, ()))
        return tuple(findings)

    def at_board(self, asked: Iterable[_Asked], board: Board, key: str) -> tuple[Finding, ...]:
        """The findings of rules for boards."""
        lookup = {**self._host, **flatten(board, "board.")}.__getitem__
        return tuple(self._find(one, key, lookup, _peers(one, board, self._facts.boards)) for one in asked)

    def _find(self, one: _Asked, key: str, lookup: Lookup, peers: tuple[float, ...]) -> Finding:
        rule = one.rule
        if rule.id in self._left_out:
            why = self._left_out[rule.id]
            judged = Judged("unknown", "", "", f"left out: {why}", missing=Missing("not-collected", why))
        elif one.compares:
            baseline = self._baselines.get(key, {}).get(rule.fact)
            judged = judge(rule, lookup, peers, baseline, self._language)
        else:
            judged = self._judge(one, lookup)
        remedy = _remedy(one, judged, self._see_again, lookup)
        return _finding(one, judged, self._facts.evidence_of(key, one.names), remedy)

    def _judge(self, one: _Asked, lookup: Lookup) -> Judged:
        seen = (one.rule.id, *map(lookup, one.names))
        judged = self._alike.get(seen)
        if judged is None:
            judged = judge(one.rule, lookup, language=self._language)
            if judged.verdict not in {"warn", "fail"} and not judged.noted:
                self._alike[seen] = judged  # What was found wrong is told with the board's name.
        return judged


def _prepare(rule: Rule, language: str) -> _Asked:
    remedy = RemedyText(
        rule.remedy.action,
        in_language(rule.remedy.text, language),
        tuple(in_language(step, language) for step in rule.remedy.steps),
    )
    compares = any(comparison.op.startswith("near_") for comparison in (*rule.expect, *rule.warn))
    return _Asked(rule, tuple(_names(rule)), compares, in_language(rule.title, language), remedy)


def _peers(one: _Asked, board: Board, boards: tuple[Board, ...]) -> tuple[float, ...]:
    if not one.compares:
        return ()
    if isinstance(board.model, Missing):
        return ()  # Boards of unknown models are not alike.
    name = one.rule.fact.partition(".")[2]
    values = (value_of(other, name) for other in boards if other is not board and other.model == board.model)
    return tuple(value for value in values if isinstance(value, (int, float)) and not isinstance(value, bool))


def _names(rule: Rule) -> Iterator[str]:
    yield rule.fact
    for comparison in (*rule.expect, *rule.warn):
        yield from comparison.references()
    parts = rule.when.parts if isinstance(rule.when, AnyOf) else (rule.when,) if rule.when else ()
    for part in parts:
        for test in part.tests:
            yield test.fact
            for comparison in test.comparisons:
                yield from comparison.references()


def _finding(one: _Asked, judged: Judged, evidence: tuple[str, ...], remedy: RemedyText) -> Finding:
    rule = one.rule
    kind = judged.missing.kind if judged.missing else None
    return Finding(
        rule=rule.id,
        title=one.title,
        verdict=judged.verdict,
        note=judged.reason if judged.noted else None,
        expected=judged.expected,
        found=judged.found,
        reason="" if judged.noted else judged.reason,
        evidence=evidence,
        severity=rule.severity,
        weight=rule.weight,
        required=rule.required and kind != "not-collected",
        caused_by=None,
        remedy=remedy,
        source=rule.source,
        fact=rule.fact,
        missing=kind,
        cap=rule.cap,
        vendor=rule.vendor,
    )


# What to do about a fact that could not be read: make it visible. The rule's own remedy is for what was found.
_SEE_AGAIN: Mapping[str, RemedyText] = {
    "not-permitted": RemedyText(
        "grant-access",
        "Run boardops as root, or give its user the right to read this: device nodes belong to a group, as a rule "
        "video or render.",
    ),
    "not-installed": RemedyText(
        "install-tool", "Install what the reason names, as a rule with the board's driver, so that this can be seen."
    ),
    "timed-out": RemedyText(
        "watch",
        "The driver did not answer in time. Look at what it hangs in; where it is only slow, run the check again with "
        "a longer --deadline.",
    ),
    "lost": RemedyText("watch", "The board no longer answers, so this cannot be seen."),
    "not-collected": RemedyText("none", "Nothing to do: the source of this was not read."),
    "unreadable": RemedyText(
        "none", "Capture the output again; where it stays so, report the text that was not understood."
    ),
    "error": RemedyText(
        "watch", "Run the check again; where it stays so, look at what the reason names, and read the kernel log."
    ),
}


_SEE_AGAIN_IN_CONTAINER: Mapping[str, RemedyText] = {
    **_SEE_AGAIN,
    "not-permitted": RemedyText(
        "grant-access",
        "Start the container anew with its boards and the right to use them (--gpus all, or the runtime class of the "
        "cluster; rootless: --group-add keep-groups), and with /sys as it is on the host; or run boardops on the host.",
    ),
    "not-installed": RemedyText(
        "grant-access",
        "Start the container with its boards (--gpus all, or the runtime class of the cluster), which brings the "
        "driver's libraries along; or run boardops on the host.",
    ),
}


def _remedy(one: _Asked, judged: Judged, see_again: Mapping[str, RemedyText], lookup: Lookup) -> RemedyText:
    if judged.verdict == "unknown" and judged.missing is not None:
        return see_again.get(judged.missing.kind, one.remedy)
    asked = one.rule.remedy.action_from
    action = lookup(asked) if asked else None
    return replace_struct(one.remedy, action=action) if isinstance(action, str) and action in ACTIONS else one.remedy


def _concerning(host: tuple[Finding, ...], board: Board) -> dict[str, Finding]:
    return {finding.rule: finding for finding in host if finding.vendor in {None, board.vendor}}


def _fold(
    findings: tuple[Finding, ...], at_host: Mapping[str, Finding], rules: Mapping[str, Rule]
) -> tuple[Finding, ...]:
    """The same findings, each with the cause that explains it, where one of its possible causes was found."""
    here = {**at_host, **{finding.rule: finding for finding in findings}}
    # The same cause whatever the order of the rules.
    lost = min((f.rule for f in findings if f.fact == "board.lost" and f.verdict == "fail"), default=None)
    hanging = [(HANGS.index(f.fact), f.rule) for f in here.values() if f.fact in HANGS and f.verdict == "fail"]
    hung = min(hanging)[1] if hanging else None

    def cause(finding: Finding) -> str | None:
        if finding.verdict not in FOLDABLE or finding.missing == "not-collected":
            return None  # What nobody looked for needs no cause.
        if finding.missing == "timed-out" and hung and finding.rule != hung:
            return hung
        for name in rules[finding.rule].caused_by:
            if name in here and _explains(here[name], finding):
                return name
        return lost if finding.missing == "lost" and finding.rule != lost else None

    return tuple(
        replace_struct(finding, caused_by=name) if (name := cause(finding)) else finding for finding in findings
    )


def _explains(cause: Finding, finding: Finding) -> bool:
    """Whether a possible cause was really found. One that is unknown explains no more than an unknown."""
    if cause.missing == "not-collected":
        return False
    return cause.verdict in {"warn", "fail"} or cause.verdict == finding.verdict == "unknown"


def _waiver_of(waivers: tuple[Waiver, ...], today: datetime.date, hostname: str) -> Callable[[Finding, str], Finding]:
    def waive(finding: Finding, board: str) -> Finding:
        if finding.verdict not in FOLDABLE:
            return finding
        for waiver in waivers:
            if (
                waiver.rule == finding.rule
                and waiver.until >= today
                and fnmatchcase(hostname, waiver.host)
                and fnmatchcase(board, waiver.board)
            ):
                over = Waived(finding.verdict, waiver.reason, waiver.owner, waiver.ticket, waiver.until.isoformat())
                return replace_struct(finding, verdict="waived", waived=over)
        return finding

    return waive


def _expired(waivers: Iterable[Waiver], today: datetime.date, hostname: str) -> Iterator[Finding]:
    for waiver in waivers:
        if waiver.until < today and fnmatchcase(hostname, waiver.host):
            yield Finding(
                rule="waiver.expired",
                title="Waivers are in date",
                verdict="warn",
                note=None,
                expected=f"an end not before {today.isoformat()}",
                found=waiver.until.isoformat(),
                reason=f"the waiver of {waiver.rule} by {waiver.owner} ({waiver.place}) ended on {waiver.until}",
                evidence=(),
                severity="warn",
                weight=1,
                required=False,
                caused_by=None,
                remedy=RemedyText("none", "Renew the waiver or remove it."),
                source=Source("an expired waiver no longer counts", "high"),
                fact="",
            )


__all__ = ["Finding", "Findings", "Judged", "evaluate", "judge", "label"]
