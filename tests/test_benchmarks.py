"""What the benchmarks stand on: whole runs are counted, wrong runs are not, and the composed rules are rules."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from msgspec.structs import replace

from benchmarks import mutation
from benchmarks.measure import Command, NotMeasuredError, Ratio, compare, compare_calls, output, peak_bytes
from benchmarks.rules import compose
from benchmarks.table import Row, markdown, ratio_row, text
from boardops.locate import shipped
from boardops.rules import load
from tests.golden import TABLE, line_of, shipped_rules

ENV = dict(os.environ)


def python(code: str, exit_code: int = 0) -> Command:
    return Command([sys.executable, "-I", "-S", "-c", code], ENV, exit_code)


def test_the_largest_process_may_be_a_child_of_a_child() -> None:
    large = "import os, sys; os.spawnl(os.P_WAIT, sys.executable, 'python', '-I', '-S', '-c', 'bytearray(10**8)')"
    assert peak_bytes(python(large)) > 10**8
    assert peak_bytes(python("pass")) < 40 * 10**6, "that of this test's own process does not count"


@pytest.mark.parametrize("measure", [output, peak_bytes, lambda command: compare(command, command, 1)])
def test_a_run_that_ends_otherwise_is_not_measured(measure: object) -> None:
    assert callable(measure)
    measure(python("raise SystemExit(2)", exit_code=2))
    with pytest.raises(NotMeasuredError, match="ended with 2, not with 0"):
        measure(python("raise SystemExit(2)"))
    with pytest.raises(NotMeasuredError):
        measure(Command(["/nonexistent/program"], ENV))


def test_every_pair_gives_a_ratio() -> None:
    ratio = compare(python("pass"), python("pass"), 3)
    assert len(ratio.cpu) == len(ratio.wall) == 3
    assert len(compare_calls(lambda: sum(range(10**5)), lambda: sum(range(10**5)), 3)) == 3


def test_composed_rules_load() -> None:
    text_ = Path(shipped("rules.yaml")).read_text(encoding="utf-8")
    once, more = (load([("rules.yaml", each)]) for each in (text_, compose(text_, 2000)))
    assert compose(text_, 2000).count("\n") >= 2000
    assert len(more.rules) > len(once.rules)
    assert [rule.id for rule in more.rules[: len(once.rules)]] == [rule.id for rule in once.rules]


def test_a_target_is_met_by_all_its_medians() -> None:
    assert ratio_row("a", "b", Ratio([1, 1, 9], [2, 2, 2]), cpu=1.5, wall=2).met is True
    assert ratio_row("a", "b", Ratio([1, 1, 9], [2, 2, 2]), cpu=1.5, wall=1.5).met is False
    assert ratio_row("a", "b", Ratio([1], [2])).met is None


def test_tables() -> None:
    rows = [ratio_row("check", "peer", Ratio([1], [2]), wall=1.5), Row("starts", "", figure="1", target="1", met=True)]
    assert text(rows).splitlines() == [
        "what    reference  ratio CPU  ratio wall  figure  target            met",
        "check   peer       1.00       2.00                wall at most 1.5  not met",
        "starts                                    1       1                 met",
    ]
    assert markdown(rows).splitlines()[2:] == [
        "| check | peer | 1.00 | 2.00 |  | wall at most 1.5 | not met |",
        "| starts |  |  |  | 1 | 1 | met |",
    ]


def test_mistakes_in_the_shipped_rules_are_counted() -> None:
    counts, survivors = mutation.measure(shipped_rules(), TABLE.read_text(encoding="utf-8"))
    assert len(survivors) <= (1 - mutation.LEAST) * counts.total()
    assert {part for part, _ in counts} == {*mutation.PARTS, "when", "required", "weight", "cap"}
    rule = shipped_rules()[0]
    blind = replace(rule, cases=())
    _, unnoticed = mutation.measure([blind], line_of(blind))
    assert f"{rule.id}: expect.equals: not_equals instead" in unnoticed, "neither a case nor the table shows it"
