"""Lines of probes: good ones, odd ones, hostile ones."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from boardops.facts import Missing, Process, build_board, build_host, known
from boardops.readers import odd_line, probe_lines
from boardops.readers.probe_lines import (
    MAX_BYTES,
    MAX_LINE_BYTES,
    MAX_LINES,
    MAX_PROBLEMS,
    Lines,
    problems_of,
    read_lines,
)


def lines(*objects: Any) -> bytes:
    return b"".join(json.dumps(part).encode() + b"\n" for part in objects)


def test_the_lines_of_a_probe_are_put_together() -> None:
    found = read_lines(
        lines(
            {"probe": "nvml", "read_at": "2026-01-31T12:00:00Z"},
            {"host": {"kernel": "6.8", "memory.total_bytes": 5, "uptime_seconds": 7}},
            {"board": {"pci_address": "0000:3b:00.0", "ecc.enabled": True}},
            {"board": {"pci_address": "0000:5e:00.0", "memory.total_bytes": {"missing": "lost", "why": "it is gone"}}},
            {"board": {"pci_address": "0000:3b:00.0", "clock.throttle_reasons": ["gpu_idle"]}},
            {"host": {"cpu.model": "X"}},
            {"problem": "board 2 does not answer"},
            {"end": "nvml"},
        )
    )
    assert found == Lines(
        "nvml",
        "2026-01-31T12:00:00Z",
        {"kernel": "6.8", "memory.total_bytes": 5, "uptime_seconds": 7.0, "cpu.model": "X"},
        (
            {"pci_address": "0000:3b:00.0", "ecc.enabled": True, "clock.throttle_reasons": ("gpu_idle",)},
            {"pci_address": "0000:5e:00.0", "memory.total_bytes": Missing("lost", "it is gone")},
        ),
        ("board 2 does not answer",),
        True,
    )


@pytest.mark.parametrize(
    ("name", "raw", "value"),
    [
        ("kernel", "6.8", "6.8"),
        ("kernel", 6.8, Missing("unreadable", "6.8")),
        ("kernel", None, Missing("unreadable", "null")),
        ("kernel", ["6.8"], Missing("unreadable", '["6.8"]')),
        ("kernel", "x" * 500, "x" * 500),
        ("kernel", {"missing": "timed-out", "why": "w"}, Missing("timed-out", "w")),
        ("kernel", {"missing": "not-supported", "why": "w", "bare": True}, Missing("not-supported", "w", True)),
        ("kernel", {"missing": "tired", "why": "w"}, Missing("unreadable", '{"missing": "tired", "why": "w"}')),
        ("kernel", {"missing": "error"}, Missing("unreadable", '{"missing": "error"}')),
        ("kernel", {}, Missing("unreadable", "{}")),
        ("memory.total_bytes", 2**63 - 1, 2**63 - 1),
        ("memory.total_bytes", 1.5, Missing("unreadable", "1.5")),
        ("memory.total_bytes", "5 GiB", Missing("unreadable", '"5 GiB"')),
        ("memory.total_bytes", True, Missing("unreadable", "true")),
        ("memory.total_bytes", 10**30, Missing("unreadable", f'"{10**30}"')),
        ("uptime_seconds", 3, 3.0),
        ("uptime_seconds", float("nan"), Missing("unreadable", '"NaN"')),
        ("uptime_seconds", float("-inf"), Missing("unreadable", '"-Infinity"')),
        ("cpu.model", ["y" * 500], Missing("unreadable", '["' + "y" * 195 + "...")),
    ],
)
def test_a_value_of_the_wrong_type_is_unreadable(name: str, raw: Any, value: Any) -> None:
    found = read_lines(lines({"host": {name: raw, "os": "after it"}}))
    assert found.host == {name: value, "os": "after it"}
    assert type(found.host[name]) is type(value)
    assert found.problems == ()


def test_flags_and_processes() -> None:
    board = {"ecc.enabled": 1, "mig_enabled": False, "processes": [{"pid": 1, "name": "a", "kind": "compute"}]}
    assert read_lines(lines({"board": board})).boards == (
        {
            "ecc.enabled": Missing("unreadable", "1"),
            "mig_enabled": False,
            "processes": (Process(1, "a", "compute"),),
        },
    )


def test_a_later_attempt_that_failed_takes_nothing_away() -> None:
    gone = {"missing": "lost", "why": "gone"}
    text = lines(
        {"board": {"vendor": "v", "index": 0, "model": "A", "serial": gone}},
        {"board": {"vendor": "v", "index": 0, "model": gone, "serial": "1"}},
    )
    assert read_lines(text).boards == ({"vendor": "v", "index": 0, "model": "A", "serial": "1"},)


KERNEL = b'{"host": {"kernel": "6.8"}}\n'


@pytest.mark.parametrize(
    ("before", "problem"),
    [
        (b"NVRM: hello\n", "line 1 is not a probe's: 'NVRM: hello'"),
        (b"\xff\xfe\x00\n", "line 1 is not a probe's: '\ufffd\ufffd\\x00'"),
        (b"[1, 2]\n", "line 1 is not a probe's: '[1, 2]'"),
        (b"{}\n", "line 1 is not a probe's: '{}'"),
        (b'{"temperature": 5}\n', "line 1 is not a probe's: '{\"temperature\": 5}'"),
        (b'{"host": 5}\n', "line 1 is not a probe's: '{\"host\": 5}'"),
        (b'{"host": {"kernel": "6\n', 'line 1 is not JSON: \'{"host": {"kernel": "6\''),
        (b'{"host": {"kernl": "6"}}\n', "line 1: no fact is called host.kernl"),
        (b'{"host": {"ecc.enabled": true}}\n', "line 1: no fact is called host.ecc.enabled"),
        (b"warning: ", "line 1 has something before it that is not a probe's: 'warning:'"),
        (b"{" * 5000 + b"\n", None),
        (b'{"host": {"kernel": ' + b"[" * 20 + b"]" * 20 + b"}}\n", None),
        (b'{"host": {"kernel": ' + b"[" * 200_000 + b"\n", None),
        (b'{"host": {"kernel": ' + b"1" * 900_000 + b"}}\n", ""),
        (b'{"host": {"os": "' + b"x" * MAX_LINE_BYTES + b'"}}\n', "line 1 is larger than 1 MiB and was left out"),
        (b"\n  \r\n", ""),
        (b"  \t", ""),
    ],
)
def test_noise_costs_only_itself(before: bytes, problem: str | None) -> None:
    found = read_lines(before + KERNEL)
    assert found.host["kernel"] == "6.8"
    if problem is None:
        assert len(found.problems) == 1
        assert len(found.problems[0]) < 300
    else:
        assert found.problems == ((problem,) if problem else ())


def test_half_a_line_at_the_end() -> None:
    found = read_lines(KERNEL + b'{"board": {"vendor": "cp')
    assert (found.host, found.boards, found.ended) == ({"kernel": "6.8"}, (), False)
    assert found.problems == ('line 2 is cut short: \'{"board": {"vendor": "cp\'',)


def test_only_what_is_whole_has_an_end() -> None:
    end = lines({"end": "host"})
    assert read_lines(KERNEL + end).ended
    assert read_lines(b"noise\n" + KERNEL + end).ended
    assert not read_lines(KERNEL).ended
    assert not read_lines(b'{"host": {"ker\n' + end).ended
    assert not read_lines(b'x {"host": {"ker\n' + end).ended


def test_problems_are_counted_when_they_are_many() -> None:
    found = read_lines(b"noise\n" * 1000)
    assert len(found.problems) == MAX_PROBLEMS + 1
    assert found.problems[-1] == "980 more problems are not shown"


def test_size_is_bounded() -> None:
    found = read_lines(KERNEL + b"\n" * (MAX_LINES + 5) + b'{"end": "host"}\n')
    assert (found.problems, found.ended) == (("there are more than 100000 lines; the rest was left out",), False)
    found = read_lines(KERNEL + b" " * MAX_BYTES)
    assert found.host == {"kernel": "6.8"}
    assert found.problems[-1] == "the text is larger than 64 MiB; the rest was left out"


def test_half_a_surrogate_pair_can_be_written_later() -> None:
    value = read_lines(b'{"host": {"hostname": "a\\ud800b"}}').host["hostname"]
    assert value == "a?b"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (lines({"probe": "host"}, {"end": "host"}), []),
        (lines({"probe": "pci"}, {"end": "pci"}), ["the lines are those of the probe 'pci', not of host"]),
        (b"", ["the first line, which names the probe host, is missing"]),
    ],
)
def test_what_is_wrong_with_a_text(text: bytes, expected: list[str]) -> None:
    assert list(problems_of(read_lines(text), "host")) == expected


NAMES = st.sampled_from([name.partition(".")[2] for name in known()])
WORDS = st.sampled_from(["", "6.8", "N/A", "\ud800", "missing", "why", "error", "lost", "pid", "name", "kind", "code"])
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=3),
    max_leaves=6,
)


@given(st.binary())
def test_no_bytes_make_it_stumble(data: bytes) -> None:
    found = read_lines(data)
    assert not found.ended


@given(st.lists(st.tuples(st.sampled_from(["host", "board"]), st.dictionaries(NAMES, VALUES, max_size=4)), max_size=5))
def test_whatever_is_said_can_be_built_and_nothing_is_lost_in_silence(said: list[tuple[str, dict[str, Any]]]) -> None:
    found = read_lines(lines(*[{subject: values} for subject, values in said]))
    build_host(found.host)
    for board in found.boards:
        build_board(board)
    told = {("host", name) for name in found.host} | {("board", name) for board in found.boards for name in board}
    for subject, values in said:
        for name in values:
            assert (subject, name) in told or any(f"{subject}.{name}" in problem for problem in found.problems)


@given(st.integers(min_value=0))
def test_a_text_that_is_cut_gives_what_stands_before_the_cut(length: int) -> None:
    whole = lines({"probe": "host"}, *[{"host": {name: "x"}} for name in ("kernel", "os", "hostname")], {"end": "host"})
    cut = whole[: length % len(whole)]
    found = read_lines(cut)
    assert len(found.host) == sum(f'"{name}": "x"}}}}'.encode() in cut for name in ("kernel", "os", "hostname"))
    assert not found.ended or cut.endswith(b'"}')


@given(
    st.text(st.sampled_from('{}[]":,\\ud8001eE.+-NaIfinity \n\t') | st.characters(), max_size=40)
    | VALUES.map(json.dumps)
)
def test_a_quick_look_and_a_close_one_see_the_same(text: str) -> None:
    line = b'{"host": ' + text.encode("utf-8", "surrogatepass") + b"}\n"
    seen = []
    for look in (probe_lines._decode, odd_line.decode):
        try:
            seen.append(repr(look(line)))
        except ValueError as error:
            seen.append(f"{type(error).__name__}: {error}")
    assert seen[0] == seen[1]
