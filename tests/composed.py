"""Small builders that tests share: rules as YAML text, boards, hosts, facts and findings."""

from __future__ import annotations

import datetime
from collections.abc import Mapping

from msgspec.structs import replace

from boardops.evaluate import Finding, Findings, RemedyText, Verdict, evaluate
from boardops.facts import Board, Facts, Value, build_board, build_host
from boardops.rules import Rule, RuleSet, Source, load

DAY = datetime.datetime(2027, 1, 15, 12, 0, tzinfo=datetime.timezone.utc)

RULE: Mapping[str, str] = {
    "id": "temperature.core",
    "title": "The chip is cool",
    "for": "board",
    "fact": "board.temperature.core_celsius",
    "expect": "{below: 90}",
    "severity": "fail",
    "weight": "10",
    "remedy": "{action: check-cooling, text: Look at the fans.}",
    "source": "{text: a test, confidence: high}",
    "cases": "[{given: {board.temperature.core_celsius: 50}, verdict: pass}]",
}
HOST_RULE: Mapping[str, str] = {
    "id": "thermal.inlet",
    "for": "host",
    "fact": "host.thermal.inlet_celsius",
    "expect": "{below: 28}",
    "cases": "[{given: {host.thermal.inlet_celsius: 20}, verdict: pass}]",
}


def rule_text(base: Mapping[str, str] = RULE, /, **keys: str | None) -> str:
    """One entry of `rules:` with a line per key. `for_` stands for `for`; None leaves a key out."""
    changed = {key.rstrip("_"): value for key, value in keys.items()}
    lines = [f"{key}: {value}" for key, value in {**RULE, **base, **changed}.items() if value is not None]
    return "".join(f"{'  - ' if i == 0 else '    '}{line}\n" for i, line in enumerate(lines))


def rules_text(*entries: str, top: str = "") -> str:
    """A rules file: the schema, further top-level keys, then the rules, which start in line 3 where `top` is empty."""
    return f"schema: boardops.rules/1\n{top}rules:\n{''.join(entries)}"


def load_rules(*entries: str, top: str = "") -> RuleSet:
    """The rules of one file, `test.yaml`."""
    return load([("test.yaml", rules_text(*entries, top=top))])


def load_rule(base: Mapping[str, str] = RULE, /, **keys: str | None) -> Rule:
    """One rule, read."""
    return load_rules(rule_text(base, **keys)).rules[0]


def board(facts: Mapping[str, Value] | None = None, number: int = 0) -> Board:
    """An NVIDIA board at `0000:0N:00.0` with these facts, named without `board.`."""
    base: dict[str, Value] = {"vendor": "nvidia", "model": "Test Board", "pci_address": f"0000:{number:02x}:00.0"}
    return build_board({**base, **(facts or {})})


def facts(*boards: Board, host: Mapping[str, Value] | None = None) -> Facts:
    """Boards in a host whose facts are named without `host.`."""
    return Facts(build_host(host or {}), boards)


def judge_all(known: Facts, rules: RuleSet, at: datetime.datetime = DAY) -> Findings:
    """All findings on the day of the tests."""
    return evaluate(known, rules, at)


def by_rule(findings: tuple[Finding, ...]) -> dict[str, Finding]:
    """Findings by the id of their rule."""
    return {finding.rule: finding for finding in findings}


PLAIN = Finding(
    rule="a.rule",
    title="A rule",
    verdict="pass",
    note=None,
    expected="below 90 °C",
    found="50 °C",
    reason="",
    evidence=(),
    severity="fail",
    weight=1,
    required=True,
    caused_by=None,
    remedy=RemedyText("none", "Nothing."),
    source=Source("a test", "high"),
    fact="board.temperature.core_celsius",
)


def finding(
    verdict: Verdict,
    weight: float = 1,
    *,
    severity: str = "fail",
    required: bool = True,
    cap: float | None = None,
    missing: str | None = None,
    vendor: str | None = None,
    rule: str = "a.rule",
    fact: str = PLAIN.fact,
) -> Finding:
    """A finding in which only what scores is set."""
    return replace(
        PLAIN,
        verdict=verdict,
        weight=weight,
        severity=severity,
        required=required,
        cap=cap,
        missing=missing,
        vendor=vendor,
        rule=rule,
        fact=fact,
    )
