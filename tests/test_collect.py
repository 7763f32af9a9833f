"""What becomes of the lines of probes that end well, badly or not at all."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from boardops.assemble import Source
from boardops.budget import Budget
from boardops.collect import collect, collect_from
from boardops.facts import Missing, Values, build_board, build_host
from boardops.readers import cuda, host, kernel_probe, nvml, pci

READ_AT = "2026-01-31T12:00:00Z"
HEAD = '{"probe": "host"}'
KERNEL = '{"host": {"kernel": "6.8"}}'
END = '{"end": "host"}'
CPU: Values = {"vendor": "cpu", "index": 0}


def source(script: str, *, name: str = "host", boards: Sequence[Values] = ()) -> Source:
    """A probe that is a shell script and owes two facts of the host and one of each board."""
    return Source(name, ["sh", "-c", script], host.read, ("kernel", "os"), boards, ("model",))


def echo(*lines: str) -> str:
    return "; ".join(f"echo '{line}'" for line in lines)


def test_this_machine() -> None:
    found = collect(cpu=True, budget=Budget(60), read_at=READ_AT)
    evidence = found.evidence[0]
    assert (evidence.id, evidence.source, evidence.kind, evidence.outcome) == ("host-1", "host", "probe", "ok")
    assert (evidence.read_at, evidence.why) == (READ_AT, "")
    assert evidence.origin.endswith("start.py host --alarm 180 --cpu")
    assert str(Path(sys.prefix)) not in evidence.origin
    assert {entry.source for entry in found.evidence} >= {"host", "nvml", "cuda", "pci"}
    assert set(found.host) == {
        *host.FILLS,
        *nvml.FILLS,
        *cuda.FILLS,
        *pci.FILLS,
        *kernel_probe.FILLS,
        "hung_sources",
        "conflicts",
    }
    board = next(board for board in found.boards if board["vendor"] == "cpu")
    assert build_board(board).vendor == "cpu"
    build_host(found.host)
    assert {found.read_from["host"][name] for name in host.FILLS} == {"host-1"}
    assert found.read_from["cpu-0"] == dict.fromkeys(board, "host-1")


def test_the_processor_is_no_board_unless_asked_for() -> None:
    assert all(board["vendor"] != "cpu" for board in collect(cpu=False, budget=Budget(60), read_at=READ_AT).boards)


@pytest.mark.parametrize(
    ("script", "outcome", "kind", "why"),
    [
        (echo(HEAD, KERNEL, END), "ok", "error", "the host probe ended well without it"),
        (echo(HEAD, KERNEL), "partial", "error", "the host probe ended well without it"),
        (echo(HEAD, "noise", KERNEL, END), "partial", "error", "the host probe ended well without it"),
        (echo(HEAD, KERNEL) + "; echo oh >&2; exit 3", "failed", "error", "exit code 3; its last words: oh"),
        (echo(HEAD, KERNEL) + "; kill -SEGV $$", "crashed", "error", "was ended by SIGSEGV"),
        (echo(HEAD, KERNEL) + "; sleep 60", "timed-out", "timed-out", "did not end within 0.45 s and was killed"),
        (echo(HEAD, KERNEL) + "; exec yes", "failed", "error", "printed more than 16777216 bytes and was cut off"),
    ],
)
def test_a_probe_that_did_not_end_well_costs_what_it_did_not_say(
    script: str, outcome: str, kind: str, why: str
) -> None:
    deadline = 0.5 if outcome == "timed-out" else 60
    found = collect_from([source(script, boards=[CPU])], budget=Budget(deadline), read_at=READ_AT)
    assert found.host["kernel"] == "6.8"
    missing = found.host["os"]
    assert isinstance(missing, Missing)
    assert missing.kind == kind
    assert missing.why.startswith("the host probe")
    assert missing.why.endswith(why)
    assert found.evidence[0].outcome == outcome
    # The board that was asked for keeps its row.
    assert found.boards == ({"vendor": "cpu", "index": 0, "model": missing},)


@pytest.mark.parametrize(("mode", "kind"), [(None, "not-installed"), (0o644, "not-permitted")])
def test_a_probe_that_cannot_be_started(tmp_path: Path, mode: int | None, kind: str) -> None:
    program = tmp_path / "probe"
    if mode is not None:
        program.write_text("text")
        program.chmod(mode)
    lost = Source("host", [str(program)], host.read, ("kernel",))
    found = collect_from([lost], budget=Budget(60), read_at=READ_AT)
    value = found.host["kernel"]
    assert isinstance(value, Missing)
    assert (value.kind, found.evidence[0].outcome) == (kind, kind)


def test_of_two_sources_the_first_that_has_a_value_counts() -> None:
    def said(**facts: Any) -> str:
        return json.dumps({"host": facts})

    conflict = "host kernel: 6.8 in first-1, 5.15 in second-2"
    first = source(echo(HEAD, said(kernel="6.8"), END), name="first")
    second = source(echo(HEAD, said(kernel="5.15", os="Ubuntu"), END), name="second")
    found = collect_from([first, second], budget=Budget(60), read_at=READ_AT)
    assert found.host == {"kernel": "6.8", "os": "Ubuntu", "hung_sources": (), "conflicts": (conflict,)}
    assert found.read_from["host"] == {"kernel": "first-1", "os": "second-2"}
    assert [evidence.id for evidence in found.evidence] == ["first-1", "second-2"]


def test_a_board_that_two_sources_tell_of_is_one_board() -> None:
    def said(**facts: Any) -> str:
        return json.dumps({"board": {"pci_address": "0000:3b:00.0", **facts}})

    other = '{"board": {"pci_address": "0000:5e:00.0", "model": "B"}}'
    first = source(echo(HEAD, said(serial="1"), END), name="pci")
    second = source(echo(HEAD, other, said(model="A"), END), name="nvml")
    found = collect_from([first, second], budget=Budget(60), read_at=READ_AT)
    assert found.boards == (
        {"pci_address": "0000:3b:00.0", "serial": "1", "model": "A"},
        {"pci_address": "0000:5e:00.0", "model": "B"},
    )
    assert found.read_from["0000:3b:00.0"] == {"pci_address": "pci-1", "serial": "pci-1", "model": "nvml-2"}


def test_a_source_that_hangs_does_not_cost_the_others() -> None:
    found = collect_from(
        [source("sleep 60", name="stuck"), source(echo(HEAD, KERNEL, END))], budget=Budget(0.5), read_at=READ_AT
    )
    assert [evidence.outcome for evidence in found.evidence] == ["timed-out", "ok"]
    assert found.host["kernel"] == "6.8"
    # Both owe it; the first to say why it is missing is believed.
    assert isinstance(found.host["os"], Missing)
