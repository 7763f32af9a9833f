"""What sources say against each other."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from boardops.conflicts import conflicts_of, shared_uuids
from boardops.facts import Missing, Value
from tests.cli.program import boardops, one_line
from tests.live import findings
from tests.smi_text import compose_text
from tests.smi_xml import H100, Tags, compose, with_tags


@pytest.mark.parametrize(
    ("fact", "one", "other", "conflict"),
    [
        ("serial", "1", "1", False),
        ("serial", "1", "2", True),
        ("serial", "1", Missing("error", "?"), False),
        ("memory.total_bytes", 80 * 2**30, 80 * 2**30 + 1000, False),
        ("memory.total_bytes", 80 * 2**30, 40 * 2**30, True),
        ("mig_enabled", True, False, True),
        ("temperature.core_celsius", 30.0, 60.0, False),
    ],
)
def test_only_what_stays_the_same_can_conflict(fact: str, one: Value, other: Value, conflict: bool) -> None:
    assert bool(conflicts_of("0000:18:00.0", [("a", {fact: one}), ("b", {fact: other})])) is conflict


def test_boards_with_one_uuid() -> None:
    boards: list[dict[str, Value]] = [{"pci_address": str(number), "uuid": "GPU-x"} for number in range(2)]
    assert shared_uuids(boards) == ("0 and 1 give one UUID",)
    assert shared_uuids(boards[:1]) == ()


def sent(tmp_path: Path, *texts: str) -> list[str]:
    words = []
    for number, text in enumerate(texts):
        path = tmp_path / f"{number}.txt"
        path.write_text(text, encoding="utf-8")
        words += ["--from", str(path)]
    return words


def test_files_that_contradict_each_other_are_a_finding(tmp_path: Path) -> None:
    other = with_tags(H100, {"serial": "1650000000009", "temperature/gpu_temp": "60 C"})
    done = boardops("check", "--format", "json", *sent(tmp_path, compose([H100]), compose_text([other])))
    finding = findings(json.loads(done.stdout))["evidence.conflicts"]
    assert finding["verdict"] == "warn" and "serial" in finding["reason"] and "temperature" not in finding["reason"]


def test_files_of_two_hosts_are_refused(tmp_path: Path) -> None:
    def moved(tags: Tags) -> Tags:
        return {**tags, "pci/pci_bus_id": "00000000:99:00.0", "uuid": "GPU-00000000-1111-2222-3333-000000000077"}

    done = boardops("check", *sent(tmp_path, compose([H100]), compose([moved(H100)])))
    assert done.returncode == 3 and "not of one host" in one_line(done.stderr)


@pytest.mark.parametrize("attached", [0, 2, 8])
def test_a_count_that_is_not_that_of_the_entries_is_unknown(tmp_path: Path, attached: int) -> None:
    text = compose([H100, {**H100, "pci/pci_bus_id": "00000000:2A:00.0"}], attached=attached)
    done = boardops("check", *sent(tmp_path, text))
    assert done.returncode == (0 if attached == 2 else 3)


def test_a_value_that_is_given_twice_is_none(tmp_path: Path) -> None:
    text = compose([H100]).replace("<gpu_temp>34 C</gpu_temp>", "<gpu_temp>99 C</gpu_temp><gpu_temp>34 C</gpu_temp>")
    done = boardops("check", "--format", "json", *sent(tmp_path, text))
    finding = findings(json.loads(done.stdout), 0)["temperature.core"]
    assert finding["verdict"] == "unknown" and "given twice" in finding["reason"]


def test_one_report_is_not_written_over_another(tmp_path: Path) -> None:
    same = str(tmp_path / "a.html")
    for words in (("-o", same, "-o", same), ("-o", same, "--record", same)):
        done = boardops("check", "--cpu", *words)
        assert done.returncode == 3 and "written twice" in one_line(done.stderr)
    done = boardops("check", "--cpu", "--record", "-")
    assert done.returncode == 3 and "name of a file" in one_line(done.stderr)
