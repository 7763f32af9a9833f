"""yamlfile.py: plain YAML is read with its places; everything clever or hostile is one sentence with file and line."""

from __future__ import annotations

import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from boardops.yamlfile import Item, YamlError, nearest, short
from boardops.yamltext import MAX_BYTES, MAX_DEPTH, read_yaml

LAUGHS = "a: &a [x, x]\nb: &b [*a, *a]\nc: &c [*b, *b]\n"


def plain(item: Item) -> Any:
    """The value without its places."""
    if isinstance(item.value, dict):
        return {key: plain(value) for key, value in item.value.items()}
    if isinstance(item.value, list):
        return [plain(value) for value in item.value]
    return item.value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a: 1", {"a": 1}),
        ("a: -1_000", {"a": -1000}),
        ("a: 1.5", {"a": 1.5}),
        ("a: .5", {"a": 0.5}),
        ("a: 1e3", {"a": 1000.0}),
        ("a: true", {"a": True}),
        ("a: False", {"a": False}),
        ("a: yes", {"a": "yes"}),
        ("a: no", {"a": "no"}),
        ("off: x", {"off": "x"}),
        ("a: '1'", {"a": "1"}),
        ('a: "true"', {"a": "true"}),
        ("a: |\n  1\n", {"a": "1\n"}),
        ("a:", {"a": None}),
        ("a: ~", {"a": None}),
        ("a: 0x10", {"a": "0x10"}),
        ("a: 1:30", {"a": "1:30"}),
        ("a: .inf", {"a": ".inf"}),
        ("a: .nan", {"a": ".nan"}),
        ("a: 1e999", {"a": "1e999"}),
        ("a: 580.65.06", {"a": "580.65.06"}),
        ("a: 2027-01-31", {"a": "2027-01-31"}),
        ("a: " + "9" * 41, {"a": "9" * 41}),
        ("1: x", {"1": "x"}),
        ("a: [1, {b: c}]", {"a": [1, {"b": "c"}]}),
        ("a: {}\nb: []", {"a": {}, "b": []}),
        ("\ufeffa: 1\r\nb: 2\r\n", {"a": 1, "b": 2}),
    ],
)
def test_read(text: str, value: object) -> None:
    assert plain(read_yaml(text, "f.yaml")) == value


def test_a_number_keeps_its_text() -> None:
    item = read_yaml("a: 12.10", "f.yaml").value["a"]
    assert (item.value, item.text("a"), item.number("a")) == (12.1, "12.10", 12.1)


def test_places() -> None:
    top = read_yaml("a:\n  - b: 1\n    c: 2\n  - d:\n      3\n", "f.yaml")
    first, second = top.value["a"].value
    assert (top.line, top.value["a"].line, first.line, first.value["c"].line) == (1, 1, 2, 3)
    assert second.value["d"].line == 4
    assert str(first.value["c"].error("is odd")) == "f.yaml:3: is odd"


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ("", 1, "is empty"),
        ("# nothing\n", 1, "is empty"),
        ("a:\n\tb: 1", 2, "has a tab in its indentation"),
        ("a:\n  - b\n\t- c", 3, "has a tab in its indentation"),
        ("a: [1,\nb: 2\nc: 3", 3, "is not YAML"),
        ("a: 1\nb: 'x\n", 3, "is not YAML"),
        ("a: 1\nb: 2\na: 3", 3, "has the key 'a' twice"),
        ("x:\n  {a: 1, a: 2}", 2, "has the key 'a' twice"),
        ("x:\n  1: a\n  '1': b", 3, "has the key '1' twice"),
        ("a: 1\n---\nb: 2", 2, "holds more than one document"),
        ("a: &x 1", 1, "uses an anchor or an alias"),
        ("a: 1\nb: &x {c: 1}", 2, "uses an anchor or an alias"),
        ("a: 1\nb: *x", 2, "uses an anchor or an alias"),
        ("&x a: 1", 1, "uses an anchor or an alias"),
        ("a: &x [*x]", 1, "uses an anchor or an alias"),
        ("a:\n  <<: *x", 2, "uses an anchor or an alias"),
        (LAUGHS, 1, "uses an anchor or an alias"),
        ("a: !!python/object:os.system {}", 1, "uses the tag 'tag:yaml.org,2002:python/object:os.system'"),
        ("a:\n  !!python/object/apply:os.system [id]", 2, "uses the tag"),
        ("a: !!python/name:os.system x", 1, "uses the tag"),
        ("a: !!str 5", 1, "uses the tag"),
        ("a: !!binary aGk=", 1, "uses the tag"),
        ("a: !!set {b}", 1, "uses the tag"),
        ("a: !x 5", 1, "uses the tag '!x'"),
        ("!!str a: 5", 1, "uses the tag"),
        ("[a]: 1", 1, "has a key that is not text"),
        ("a: 1\n? {b: c}\n: 2", 2, "has a key that is not text"),
        ("[" * 50 + "]" * 50, 1, "is nested too deeply"),
        ("{a: " * 50 + "}" * 50, 1, "is nested too deeply"),
        ("[" * 500 + "]" * 500, 1, "is nested too deeply"),
        ("[" * 200_000, 1, "nest"),
        ("a: \0", 1, "is not YAML"),
        ("a: \ud800", 1, "is not YAML"),
        ("\x89PNG\r\n\x1a\n\0\0\0", 1, "is not YAML"),
        ("a: 1\n" + "# x\n" * (MAX_BYTES // 4), 1, "is larger than 2 MiB"),
    ],
)
def test_refused(text: str, line: int, said: str) -> None:
    with pytest.raises(YamlError) as caught:
        read_yaml(text, "f.yaml")
    assert (caught.value.file, caught.value.line) == ("f.yaml", line)
    assert said in caught.value.message and "\n" not in str(caught.value)


@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ("{a: ", "}")])
def test_depth_is_bounded(opening: str, closing: str) -> None:
    read_yaml(opening * MAX_DEPTH + "1" + closing * MAX_DEPTH, "f.yaml")
    with pytest.raises(YamlError, match="nested too deeply"):
        read_yaml(opening * (MAX_DEPTH + 1) + "1" + closing * (MAX_DEPTH + 1), "f.yaml")


@pytest.mark.parametrize(
    ("text", "call", "said"),
    [
        ("a: 1", lambda item: item.list("it"), "it must be a list"),
        ("[a]", lambda item: item.map("it"), "it must be a map of keys and values"),
        ("a: 1", lambda item: item.map("it", ("ab", "b"), ()), "it has the unknown key 'a'; did you mean 'ab'?"),
        ("a: 1", lambda item: item.map("it", None, ("b",)), "it lacks the key 'b'"),
        ("{}", lambda item: item.text("it"), "it must be text"),
        ("~", lambda item: item.text("it"), "it must be text"),
        ("true", lambda item: item.number("it"), "it must be a number, not 'true'"),
        ("'1'", lambda item: item.number("it"), "it must be a number, not '1'"),
        ("[]", lambda item: item.number("it"), "it must be a number, not a list"),
        ("{}", lambda item: item.flag("it"), "it must be true or false, not a map"),
        ("'yes'", lambda item: item.flag("it"), "it must be true or false, not 'yes'"),
        (
            "fial",
            lambda item: item.one_of("it", ("fail", "warn")),
            "one of fail, warn, not 'fial'; did you mean 'fail'?",
        ),
        ("zzz", lambda item: item.one_of("it", ("fail",)), "it must be one of fail, not 'zzz'"),
    ],
)
def test_a_value_of_another_kind_is_refused(text: str, call: Any, said: str) -> None:
    with pytest.raises(YamlError) as caught:
        call(read_yaml(text, "f.yaml"))
    assert caught.value.message.endswith(said) and caught.value.line == 1


def test_long_words_are_cut_in_sentences() -> None:
    with pytest.raises(YamlError) as caught:
        read_yaml("x" * 100_000 + ": 1", "f.yaml").map("it", ("a",))
    assert len(str(caught.value)) < 200
    assert short("x" * 100) == repr("x" * 57 + "...")


def test_nearest() -> None:
    assert nearest("bord", ["board", "host"]) == "; did you mean 'board'?"
    assert nearest("zebra", ["board", "host"]) == ""


@pytest.mark.parametrize("text", ["a: " + "1" * 1_000_000 + "x", "a: '" + "1" * 1_000_000 + "'", "- 1\n" * 100_000])
def test_large_texts_cost_little_time(text: str) -> None:
    started = time.process_time()
    read_yaml(text, "f.yaml")
    assert time.process_time() - started < 10


values = st.recursive(
    st.one_of(st.integers(-(2**40), 2**40), st.booleans(), st.text("ab: #-[]{}'\"\\\n", max_size=8)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.text("abc", min_size=1), inner, max_size=3)
    ),
    max_leaves=10,
)


def _flow(value: Any) -> str:
    """A value as flow YAML, all texts in double quotes."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, str):
        escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
        return f'"{escaped}"'
    if isinstance(value, list):
        return "[" + ", ".join(map(_flow, value)) + "]"
    return "{" + ", ".join(f'"{key}": {_flow(entry)}' for key, entry in value.items()) + "}"


@given(values)
def test_what_was_written_is_read(value: object) -> None:
    assert plain(read_yaml(_flow(value), "f.yaml")) == value


@given(st.text())
def test_any_text_is_read_or_refused_in_one_line(text: str) -> None:
    try:
        read_yaml(text, "f.yaml")
    except YamlError as error:
        assert "\n" not in str(error)
