"""compare.py: each word of the vocabulary means what it says, of the kinds of fact that it goes with."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from boardops.compare import (
    MAX_MATCHED,
    OPERATORS,
    Comparison,
    Limit,
    Near,
    Ref,
    holds,
    read_comparisons,
    read_condition,
    reference_of,
    resolve,
    words,
)
from boardops.facts import Fault, Missing, Value, known
from boardops.yamlfile import YamlError
from boardops.yamltext import read_yaml

HEAT = known()["board.temperature.core_celsius"]
SIZE = known()["board.memory.used_bytes"]
DRIVER = known()["host.software.nvidia_driver_version"]
STATE = known()["board.performance_state"]
REASONS = known()["board.clock.throttle_reasons"]
FAULTS = known()["board.faults"]
LOST = known()["board.lost"]
XID_79 = Fault("xid", "79")


@pytest.mark.parametrize(
    ("op", "found", "limit", "fact", "expected"),
    [
        ("equals", 5, 5.0, HEAT, True),
        ("equals", 5, 6, HEAT, False),
        ("equals", True, True, LOST, True),
        ("equals", False, True, LOST, False),
        ("equals", "P0", "P0", STATE, True),
        ("equals", "P0", "p0", STATE, False),
        ("equals", "580", "580.0", DRIVER, True),
        ("not_equals", 5, 5, HEAT, False),
        ("not_equals", "a", "b", STATE, True),
        ("not_equals", "580.0", "580", DRIVER, False),
        ("below", 27.9, 28, HEAT, True),
        ("below", 28, 28, HEAT, False),
        ("at_most", 28, 28, HEAT, True),
        ("at_most", 28.1, 28, HEAT, False),
        ("above", 28, 28, HEAT, False),
        ("above", 28.1, 28, HEAT, True),
        ("at_least", 28, 28, HEAT, True),
        ("at_least", 27.9, 28, HEAT, False),
        ("below", "12.9", "12.10", DRIVER, True),
        ("at_least", "580.65.06", "580.65.6", DRIVER, True),
        ("between", 10, (10, 30), HEAT, True),
        ("between", 30, (10, 30), HEAT, True),
        ("between", 9, (10, 30), HEAT, False),
        ("between", 31, (10, 30), HEAT, False),
        ("between", "550.1", ("535", "560"), DRIVER, True),
        ("one_of", 2, (1, 2), HEAT, True),
        ("one_of", 3, (1, 2), HEAT, False),
        ("one_of", "P0", ("P0", "P1"), STATE, True),
        ("one_of", "12.0", ("12", "13"), DRIVER, True),
        ("none_of", "P2", ("P0", "P1"), STATE, True),
        ("none_of", "P1", ("P0", "P1"), STATE, False),
        ("matches", "P12", r"^P\d+$", STATE, True),
        ("matches", "xP12", r"^P\d+$", STATE, False),
        ("matches", "a" * MAX_MATCHED + "b", "b", STATE, False),
        ("version", "535.104.05", ">=525.60,<580", DRIVER, True),
        ("version", "580", ">=525.60,<580", DRIVER, False),
        ("empty", (), True, REASONS, True),
        ("empty", ("gpu_idle",), True, REASONS, False),
        ("empty", "", False, STATE, False),
        ("empty", "x", False, STATE, True),
        ("contains_none", (), ("hw_slowdown",), REASONS, True),
        ("contains_none", ("gpu_idle",), ("hw_slowdown",), REASONS, True),
        ("contains_none", ("gpu_idle", "hw_slowdown"), ("hw_slowdown",), REASONS, False),
        ("contains_none", ("hw_slowdown_x",), ("hw_slowdown",), REASONS, True),
        ("contains_none", (XID_79,), ("xid:79",), FAULTS, False),
        ("contains_none", (XID_79,), ("xid:7", "sxid:79"), FAULTS, True),
    ],
)
def test_holds(op: str, found: Value, limit: Limit, fact: object, expected: bool) -> None:
    assert holds(op, found, limit, fact) is expected  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("near", "found", "reference", "expected"),
    [
        (Near(within=5), 55, 50.0, True),
        (Near(within=5), 45, 50.0, True),
        (Near(within=5), 55.1, 50.0, False),
        (Near(within_ratio=0.1), 55, 50.0, True),
        (Near(within_ratio=0.1), 44, 50.0, False),
        (Near(within_ratio=0.1), -55, -50.0, True),
        (Near(within_ratio=0), 50, 50.0, True),
        (Near(within_ratio=0.5), 1, 0.0, False),
    ],
)
@pytest.mark.parametrize("op", ["near_peers", "near_baseline"])
def test_near(op: str, near: Near, found: float, reference: float, expected: bool) -> None:
    assert holds(op, found, near, HEAT, reference) is expected


@given(st.floats(-100, 200), st.floats(-100, 200))
def test_orders_agree_with_each_other(found: float, limit: float) -> None:
    result = {op: holds(op, found, limit, HEAT) for op in ("below", "at_most", "above", "at_least", "equals")}
    assert result["below"] != result["at_least"] and result["above"] != result["at_most"]
    assert result["at_most"] == (result["below"] or result["equals"])
    assert holds("between", found, (limit, limit), HEAT) == result["equals"]


def test_every_operator_is_shown_and_takes_what_is_known() -> None:
    for operator in OPERATORS.values():
        assert "{limit}" in operator.words and operator.kinds
        assert operator.takes in {"value", "values", "pair", "pattern", "spec", "flag", "near"}


@pytest.mark.parametrize(
    ("ref", "value", "expected"),
    [
        (Ref("board.temperature.slowdown_celsius"), 100.0, 100.0),
        (Ref("board.temperature.slowdown_celsius", times=0.5), 100.0, 50.0),
        (Ref("board.temperature.slowdown_celsius", times=0.5, plus=-1), 100.0, 49.0),
        (Ref("board.ecc.enabled"), True, True),
        (Ref("host.need.cuda_version"), "12.8", "12.8"),
        (Ref("x"), Missing("lost", "gone"), Missing("lost", "gone")),
    ],
)
def test_references_are_resolved(ref: Ref, value: Value, expected: object) -> None:
    assert resolve(ref, lambda name: value) == expected


def test_a_list_with_a_missing_reference_is_missing() -> None:
    gone = Missing("lost", "gone")
    assert resolve((1, Ref("x"), 3), lambda name: gone) == gone
    assert resolve((1, Ref("x"), 3), lambda name: 2) == (1, 2, 3)


@pytest.mark.parametrize(
    ("peers", "expected"),
    [((), None), ((1.0, 2.0), None), ((1.0, 9.0, 2.0), 2.0), ((1.0, 2.0, 4.0, 9.0), 3.0)],
)
def test_peers_count_from_three_on(peers: tuple[float, ...], expected: float | None) -> None:
    reference = reference_of("near_peers", peers, None)
    assert reference == expected if expected is not None else isinstance(reference, Missing)


@pytest.mark.parametrize(
    ("baseline", "expected"), [(None, None), (5, 5), (True, None), ("5", None), (Missing("lost", "x"), None)]
)
def test_only_a_number_is_a_baseline(baseline: Value | None, expected: float | None) -> None:
    reference = reference_of("near_baseline", (), baseline)
    if expected is not None:
        assert reference == expected
    else:
        assert isinstance(reference, Missing) and reference.kind == "not-supported"


@pytest.mark.parametrize(
    ("op", "limit", "fact", "text"),
    [
        ("below", 28, HEAT, "below 28 °C"),
        ("at_least", 2**30, SIZE, "at least 1 GiB"),
        ("between", (10, 30), HEAT, "between 10 °C and 30 °C"),
        ("one_of", ("a", "b"), STATE, "one of a, b"),
        ("not_equals", "P8", STATE, "anything but P8"),
        ("version", ">=450.80,<600,!=500", DRIVER, "at least 450.80 and below 600 and not 500"),
        ("empty", True, REASONS, "nothing"),
        ("empty", False, REASONS, "something"),
        ("near_peers", Near(within=5), HEAT, "within 5 °C of its peers"),
        ("near_baseline", Near(within_ratio=0.1), HEAT, "within 10 % of its last good run"),
        ("below", Missing("lost", "gone"), HEAT, "below an unknown limit (gone)"),
        ("equals", "{limit} {found}", STATE, "{limit} {found}"),
    ],
)
def test_words(op: str, limit: Limit | Missing, fact: object, text: str) -> None:
    comparison = Comparison(op, limit if not isinstance(limit, Missing) else 0)
    assert words((comparison,), (limit,), fact) == text  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "fact", "expected"),
    [
        ("{below: 28}", "board.temperature.core_celsius", (Comparison("below", 28),)),
        ("{below: 1 GiB}", "board.memory.used_bytes", (Comparison("below", 2**30),)),
        ("{equals: 12.10}", "host.software.cuda_driver_version", (Comparison("equals", "12.10"),)),
        ("{between: [10, 10]}", "board.temperature.core_celsius", (Comparison("between", (10, 10)),)),
        ("{between: [10 C, 30]}", "board.temperature.core_celsius", (Comparison("between", (10, 30)),)),
        ("{near_peers: {within_ratio: 10 %}}", "board.power.draw_watts", (Comparison("near_peers", Near(None, 0.1)),)),
        (
            "{at_least: {fact: board.power.default_limit_watts, times: 0.9, plus: 1 kW}}",
            "board.power.limit_watts",
            (Comparison("at_least", Ref("board.power.default_limit_watts", 0.9, 1000)),),
        ),
    ],
)
def test_comparisons_are_read(text: str, fact: str, expected: tuple[Comparison, ...]) -> None:
    assert read_comparisons(read_yaml(text, "f"), known()[fact], "expect", "board") == expected


@pytest.mark.parametrize(
    ("text", "fact", "said"),
    [
        ("{}", HEAT, "expect is empty"),
        ("[]", HEAT, "expect must be a map"),
        ("{belwo: 1}", HEAT, "expect has the unknown key 'belwo'; did you mean 'below'?"),
        ("{below: 1 GiB}", HEAT, "no unit of celsius"),
        ("{below: [1]}", HEAT, "expect.below must be a number, not a list"),
        ("{below: x}", STATE, "expect.below cannot be asked of board.performance_state, which is a text"),
        ("{equals: 1}", LOST, "expect.equals must be true or false"),
        ("{equals: [a]}", STATE, "expect.equals must be text"),
        ("{equals: x}", REASONS, "which is a list of words"),
        ("{matches: x}", HEAT, "which is a number of celsius"),
        ("{contains_none: [[a]]}", REASONS, "expect.contains_none must be one word"),
        ("{equals: latest}", DRIVER, "expect.equals must be a version, not 'latest'"),
        ("{version: 580}", DRIVER, "is not an operator (>= <= == != > <) and a version"),
        ("{between: [1]}", HEAT, "expect.between must be a list of two values"),
        ("{between: [30, 10]}", HEAT, "has its larger value first, so nothing lies between"),
        ("{between: ['12.10', '12.9']}", DRIVER, "has its larger value first"),
        ("{one_of: []}", STATE, "expect.one_of must be a list of values"),
        ("{empty: 1}", REASONS, "expect.empty must be true or false"),
        ("{matches: '['}", STATE, "is not a regular expression"),
        ("{matches: 'a{99999999999}'}", STATE, "is not a regular expression"),
        ("{matches: '[[a]'}", STATE, "is not a regular expression"),
        ("{matches: " + "a" * 201 + "}", STATE, "is longer than 200 characters"),
        ("{near_peers: {}}", HEAT, "needs either 'within' or 'within_ratio'"),
        ("{near_peers: {within: 1, within_ratio: 1}}", HEAT, "needs either 'within' or 'within_ratio'"),
        ("{near_peers: {within: -1}}", HEAT, "must not be negative"),
        ("{near_peers: {within: 5 %}}", HEAT, "no unit of celsius"),
        (
            "{below: {fact: board.memory.used_bytes}}",
            HEAT,
            "a number of celsius, with board.memory.used_bytes, a number",
        ),
        ("{equals: {fact: board.lost, times: 2}}", LOST, "'times' and 'plus' go with numbers only"),
        ("{below: {times: 2}}", HEAT, "lacks the key 'fact'"),
        (
            "{below: {fact: board.temperature.slowdown_celsius, time: 2}}",
            HEAT,
            "unknown key 'time'; did you mean 'times'?",
        ),
        ("{below: {fact: board.temprature.core_celsius}}", HEAT, "did you mean 'board.temperature.core_celsius'?"),
        ("{below: 1e999}", HEAT, "too large"),
    ],
)
def test_comparisons_that_do_not_fit_are_refused(text: str, fact: object, said: str) -> None:
    with pytest.raises(YamlError) as caught:
        read_comparisons(read_yaml("\n" + text, "f"), fact, "expect", "board")  # type: ignore[arg-type]
    assert said in caught.value.message and caught.value.line == 2


@pytest.mark.parametrize("text", ["{}", "[]", "[{}]"])
def test_an_empty_condition_is_refused(text: str) -> None:
    with pytest.raises(YamlError, match="when is empty"):
        read_condition(read_yaml(text, "f"), "when", "board")


def test_a_host_sees_no_board() -> None:
    with pytest.raises(YamlError, match=r"when names board\.lost, but a rule for the host sees no board"):
        read_condition(read_yaml("{board.lost: {equals: true}}", "f"), "when", "host")
