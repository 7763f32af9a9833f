"""score.py: what must hold of score, coverage and readiness for any findings, and the contract's own examples."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from boardops.evaluate import Finding, Findings, Verdict
from boardops.facts import MISSING_KINDS
from boardops.rules import Scoring
from boardops.score import (
    ORDER,
    Readiness,
    cap_of,
    concerning,
    coverage_of,
    earned,
    host_readiness,
    raw_score,
    readiness_of,
    score_boards,
    score_of,
    waterfall_of,
    worst,
)
from tests.composed import board, facts, finding

DEFAULT = Scoring()
WORSE: tuple[Verdict, ...] = ("pass", "warn", "fail")

weights = st.one_of(st.integers(1, 20).map(float), st.floats(0.001, 1000, allow_nan=False))
scorings = st.one_of(
    st.just(DEFAULT),
    st.builds(
        lambda floor, caps: Scoring(floor, min(caps), max(caps)),
        st.floats(0, 1),
        st.tuples(st.floats(0, 100), st.floats(0, 100)),
    ),
)


def any_finding(*verdicts: Verdict) -> st.SearchStrategy[Finding]:
    return st.builds(
        finding,
        st.sampled_from(verdicts or ("pass", "warn", "fail", "unknown", "skipped", "waived")),
        weights,
        severity=st.sampled_from(("fail", "warn", "note")),
        required=st.booleans(),
        cap=st.one_of(st.none(), st.floats(0, 100)),
        missing=st.one_of(st.none(), st.sampled_from(MISSING_KINDS)),
        fact=st.sampled_from(("board.lost", "host.thermal.inlet_celsius", "host.software.torch_version")),
    )


others = st.lists(any_finding(), max_size=8)


def no_better(score: float | None, before: float | None) -> bool:
    """Whether a score did not rise. A score that is no longer there has not risen."""
    return score is None or (before is not None and score <= before)


def rank(findings: Sequence[Finding], scoring: Scoring, floor: bool = True) -> int:
    return ORDER.index(readiness_of(findings, scoring, floor))


@given(any_finding("pass"), others, scorings, st.booleans())
def test_a_worse_verdict_never_raises_score_or_readiness(
    one: Finding, rest: list[Finding], scoring: Scoring, floor: bool
) -> None:
    runs = [[replace(one, verdict=verdict), *rest] for verdict in WORSE]
    scores = [score_of(run, scoring) for run in runs]
    ranks = [rank(run, scoring, floor) for run in runs]
    assert no_better(scores[1], scores[0]) and no_better(scores[2], scores[1])
    assert ranks == sorted(ranks)


@given(any_finding("pass"), others, scorings, st.booleans(), st.booleans(), st.sampled_from(MISSING_KINDS))
def test_a_pass_that_becomes_unknown_raises_neither(
    one: Finding, rest: list[Finding], scoring: Scoring, floor: bool, required: bool, kind: str
) -> None:
    before = [replace(one, missing=None), *rest]
    after = [replace(one, verdict="unknown", missing=kind, required=required), *rest]
    assert no_better(score_of(after, scoring), score_of(before, scoring))
    assert coverage_of(after) <= coverage_of(before) + 1e-12
    assert rank(after, scoring, floor) >= rank(before, scoring, floor)


@given(any_finding("fail"), others, scorings, st.booleans())
def test_a_required_failure_that_becomes_unknown_is_never_ready(
    one: Finding, rest: list[Finding], scoring: Scoring, floor: bool
) -> None:
    after = [replace(one, verdict="unknown", required=True), *rest]
    assert readiness_of(after, scoring, floor) in {"unknown", "not-ready"}


@given(any_finding("skipped", "waived"), others, scorings, st.booleans())
def test_skipped_and_waived_are_as_if_the_rule_were_absent(
    one: Finding, rest: list[Finding], scoring: Scoring, floor: bool
) -> None:
    assert score_of([one, *rest], scoring) == score_of(rest, scoring)
    assert coverage_of([one, *rest]) == coverage_of(rest)
    assert rank([one, *rest], scoring, floor) == rank(rest, scoring, floor)
    assert waterfall_of([one, *rest], scoring) == waterfall_of(rest, scoring)


@given(others, scorings)
def test_the_waterfall_adds_up_to_what_is_lost(findings: list[Finding], scoring: Scoring) -> None:
    score = score_of(findings, scoring)
    rows = waterfall_of(findings, scoring)
    if score is None:
        assert rows == ()
        return
    assert sum(round(10 * row.points) for row in rows) == 1000 - round(10 * score)
    assert all(row.points > 0 and round(10 * row.points) / 10 == row.points for row in rows)
    assert [row.rule for row in rows].count("cap") <= 1
    losses = [row.points for row in rows if row.rule != "cap"]
    assert losses == sorted(losses, reverse=True)


@given(st.lists(st.tuples(st.sampled_from(WORSE), st.integers(1, 400)), min_size=1, max_size=12))
def test_no_cap_no_row_for_a_cap(pairs: list[tuple[Verdict, int]]) -> None:
    findings = [finding(verdict, weight / 8, cap=100) for verdict, weight in pairs]
    rows = waterfall_of(findings, Scoring(0.8, 100, 100))
    assert "cap" not in {row.rule for row in rows}


@given(others, scorings)
def test_score_and_coverage_stay_in_their_range(findings: list[Finding], scoring: Scoring) -> None:
    score, raw = score_of(findings, scoring), raw_score(findings)
    judged = [one for one in findings if earned(one) is not None]
    assert (score is None) == (not judged) == (raw is None)
    if score is not None and raw is not None:
        assert 0 <= score <= 100 and score <= raw + 0.05 and score <= cap_of(findings, scoring) + 0.05
        assert round(score, 1) == score
    assert 0 <= coverage_of(findings) <= 1


@given(others, scorings)
def test_order_does_not_matter(findings: list[Finding], scoring: Scoring) -> None:
    turned = findings[::-1]
    assert readiness_of(turned, scoring) == readiness_of(findings, scoring)
    assert cap_of(turned, scoring) == cap_of(findings, scoring)


@given(others, any_finding("fail"), scorings)
def test_a_failure_is_not_ready_whatever_else(rest: list[Finding], one: Finding, scoring: Scoring) -> None:
    assert readiness_of([*rest, one], scoring) == "not-ready"
    score = score_of([*rest, one], scoring)
    assert score is not None and score <= scoring.cap_warn + 0.05


@pytest.mark.parametrize(
    ("findings", "score", "coverage", "readiness"),
    [
        ([], None, 0.0, "unknown"),
        ([finding("pass")], 100.0, 1.0, "ready"),
        ([finding("warn", severity="warn")], 50.0, 1.0, "degraded"),
        ([finding("fail")], 0.0, 1.0, "not-ready"),
        ([finding("pass", 99), finding("fail", 1)], 40.0, 1.0, "not-ready"),
        ([finding("pass", 99), finding("warn", 1)], 90.0, 1.0, "degraded"),
        ([finding("pass", 99), finding("fail", 1, cap=0)], 0.0, 1.0, "not-ready"),
        ([finding("pass", 99), finding("fail", 1, cap=95)], 90.0, 1.0, "not-ready"),
        ([finding("pass", 99), finding("warn", 1, severity="warn", cap=70)], 70.0, 1.0, "degraded"),
        ([finding("pass", 99), finding("warn", 1, severity="fail", cap=0)], 90.0, 1.0, "degraded"),
        ([finding("unknown")], None, 0.0, "unknown"),
        ([finding("pass", 99), finding("unknown", 1)], 100.0, 0.99, "unknown"),
        ([finding("pass", 99), finding("unknown", 1, required=False)], 100.0, 0.99, "ready"),
        ([finding("pass", 8), finding("unknown", 2, required=False)], 100.0, 0.8, "ready"),
        ([finding("pass", 7), finding("unknown", 3, required=False)], 100.0, 0.7, "unknown"),
        ([finding("warn", 7), finding("unknown", 3, required=False)], 50.0, 0.7, "unknown"),
        ([finding("fail", 1), finding("unknown", 9)], 0.0, 0.1, "not-ready"),
        ([finding("skipped")], None, 0.0, "unknown"),
        ([finding("waived")], None, 0.0, "unknown"),
        ([finding("pass"), finding("waived", 50), finding("skipped", 50)], 100.0, 1.0, "ready"),
        # What was left out on purpose, and BMC and torch, stay out of the floor but not out of the coverage.
        ([finding("pass", 1), finding("unknown", 9, required=False, missing="not-collected")], 100.0, 0.1, "ready"),
        (
            [finding("pass", 1), finding("unknown", 9, required=False, fact="host.thermal.inlet_celsius")],
            100.0,
            0.1,
            "ready",
        ),
        ([finding("unknown", 9, required=False, missing="not-collected")], None, 0.0, "unknown"),
    ],
)
def test_examples(findings: list[Finding], score: float | None, coverage: float, readiness: Readiness) -> None:
    assert score_of(findings, DEFAULT) == score
    assert coverage_of(findings) == pytest.approx(coverage)
    assert readiness_of(findings, DEFAULT) == readiness


def test_a_waterfall_says_what_cost_what() -> None:
    findings = [
        finding("pass", 16),
        finding("fail", 3, rule="a.big"),
        finding("warn", 2, rule="a.small"),
    ]
    rows = [(row.rule, row.points) for row in waterfall_of(findings, DEFAULT)]
    assert rows == [("a.big", 14.3), ("a.small", 4.7), ("cap", 41.0)]
    assert score_of(findings, DEFAULT) == 40.0


def test_findings_of_the_host_count_for_the_boards_that_they_concern() -> None:
    boards = (board({"vendor": "nvidia"}), board({"vendor": "ascend"}, 1), board({"vendor": "nvidia"}, 2))
    host = (finding("fail", 1, rule="host.one", vendor="ascend"), finding("warn", 1, rule="host.all"))
    own = ((finding("pass", 2),),) * 3
    results = score_boards(facts(*boards), Findings(host, own), DEFAULT, (True, True, False))
    assert [result.readiness for result in results] == ["degraded", "not-ready", "degraded"]
    assert [result.score for result in results] == [83.3, 40.0, 83.3]
    assert all(result.findings == own[0] for result in results), "a host's finding is stored once, with the host"
    assert [result.key for result in results] == ["0000:00:00.0", "0000:01:00.0", "0000:02:00.0"]
    assert host_readiness(results, "ready") == "not-ready"
    assert host_readiness(results[::2], "ready") == "degraded"


def test_a_board_of_unknown_vendor_is_concerned_by_what_concerns_all() -> None:
    host = (finding("fail", vendor="nvidia"), finding("pass", rule="host.all"))
    assert [one.rule for one in concerning(host, None)] == ["host.all"]


@given(st.lists(st.sampled_from(ORDER)))
def test_the_worst_of_several(states: list[Readiness]) -> None:
    assert worst(states) == (max(states, key=ORDER.index) if states else "unknown")


@pytest.mark.parametrize("alone", ORDER)
def test_a_host_without_a_selected_board_is_never_ready(alone: Readiness) -> None:
    assert host_readiness((), alone) in {"unknown", "not-ready"}
    unselected = score_boards(facts(board()), Findings((), ((finding("pass"),),)), DEFAULT, (False,))
    assert host_readiness(unselected, alone) in {"unknown", "not-ready"}
