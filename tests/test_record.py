"""A run's evidence in one file: it comes back whole, and whatever else it is gets one sentence."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from boardops.assemble import Answer, Source
from boardops.errors import BoardopsError
from boardops.outcome import Outcome
from boardops.readers import host
from boardops.record import answers_of, dump, is_record, load
from tests.cli.program import boardops, one_line

SOURCE = Source("host", ["host"], host.read, host.FILLS)


def answer(outcome: Outcome) -> Answer:
    return Answer(SOURCE, "python host.py", outcome, host.read(outcome.stdout))


def kept(*answers: Answer) -> bytes:
    return dump(answers, read_at="2026-12-01T08:00:00Z", cpu=True, intent="in-service", needs=("free=1GiB",)).encode()


@given(st.binary(max_size=200), st.sampled_from(["ok", "crashed", "hung"]), st.floats(0, 1e6))
def test_every_answer_comes_back(printed: bytes, kind: str, seconds: float) -> None:
    outcome = Outcome(kind=kind, stdout=printed, seconds=seconds, state="D", why="because")  # type: ignore[arg-type]
    data = kept(answer(outcome))
    assert is_record(data)
    record = load(data, "x")
    assert (record.cpu, record.intent, record.needs) == (True, "in-service", ("free=1GiB",))
    (back,) = answers_of(record, {"host": SOURCE}.get, "x")
    assert back == answer(outcome)


@given(st.integers(0, 300), st.binary(max_size=5))
def test_damage_is_one_sentence_that_names_the_file(at: int, instead: bytes) -> None:
    data = kept(answer(Outcome(kind="ok", stdout=b"text")))
    damaged = data[:at] + instead + data[at + 3 :]
    try:
        answers_of(load(damaged, "sent.record"), {"host": SOURCE}.get, "sent.record")
    except BoardopsError as error:
        assert "sent.record" in str(error) and "\n" not in str(error)


def test_an_unknown_source_is_named() -> None:
    data = kept(answer(Outcome(kind="ok"))).replace(b'"source":"host"', b'"source":"tomorrow"')
    with pytest.raises(BoardopsError, match="x holds the unknown source 'tomorrow'"):
        answers_of(load(data, "x"), {"host": SOURCE}.get, "x")


def test_the_command_line(tmp_path: Path) -> None:
    record = tmp_path / "run.record"
    live = boardops("check", "--cpu", "--intent", "in-service", "--record", str(record))
    again = boardops("check", "--from", str(record))
    assert live.returncode == again.returncode == 0
    assert live.stdout == again.stdout, "the text of a replay is that of the run"
    assert json.loads(record.read_text(encoding="utf-8"))["schema"] == "boardops.record/1"
    other = boardops("check", "--from", str(record), "--intent", "predeploy", "--format", "json")
    assert json.loads(other.stdout)["intent"] == "predeploy", "what is asked for now counts"
    two = boardops("check", "--from", str(record), "--from", str(record))
    assert two.returncode == 3 and "judge it alone" in one_line(two.stderr)
    both = boardops("check", "--from", str(record), "--record", str(record))
    assert both.returncode == 3 and "--record" in one_line(both.stderr)
    record.write_bytes(record.read_bytes()[:200])
    cut = boardops("check", "--from", str(record))
    assert cut.returncode == 3 and str(record) in one_line(cut.stderr)
