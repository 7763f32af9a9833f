"""The whole road in one process: options of `boardops check` and what they change."""

from __future__ import annotations

import contextlib
import datetime
import os
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

import pytest

from boardops.cli.request import Request
from boardops.cli.run import perform, rule_layers
from boardops.cli.selection import read_needs, select_boards
from boardops.errors import BoardopsError
from boardops.evaluate import Finding
from boardops.facts import Board, Missing
from boardops.score import Result
from tests.cli.program import boardops
from tests.smi_xml import H100, compose, process, with_tags
from tests.standin.nvml import Nvml
from tests.standin.sysfs import machine

PACKAGE = Path(__file__).resolve().parent.parent.parent / "boardops"
NOW = datetime.datetime(2026, 12, 1, 12, tzinfo=datetime.timezone.utc)


def judged(tmp_path: Path, text: str, **request: object) -> Result:
    path = tmp_path / "smi.xml"
    path.write_text(text, encoding="utf-8")
    wanted = {"files": (str(path),), "site_rules": tmp_path / "no-rules.d", **request}
    return perform(Request(**wanted), lambda: NOW)  # type: ignore[arg-type]


def findings(result: Result) -> Mapping[str, Finding]:
    return {finding.rule: finding for finding in (*result.host.findings, *result.boards[0].findings)}


def test_a_healthy_board_is_ready_and_partial(tmp_path: Path) -> None:
    result = judged(tmp_path, compose([H100]))
    assert (result.readiness, result.score, result.usable) == ("ready", 100, 1)
    assert result.partial == "nvidia-smi XML only"
    assert 0.65 < result.coverage < 1
    assert result.cause is None
    assert result.judged_at == "2026-12-01T08:00:00Z", "the file's own time counts"


def test_at_moves_the_day_that_counts(tmp_path: Path) -> None:
    day = datetime.datetime(2029, 1, 1, tzinfo=datetime.timezone.utc)
    result = judged(tmp_path, compose([H100]), at=day)
    assert findings(result)["driver.supported"].verdict == "warn"
    assert result.readiness == "degraded"


def test_free_memory_against_a_need(tmp_path: Path) -> None:
    tags = with_tags(H100, {"fb_memory_usage/used": "20000 MiB", "fb_memory_usage/free": "61080 MiB"})
    enough = judged(tmp_path, compose([tags]), intent="in-service", needs=("free=59GiB",))
    short = judged(tmp_path, compose([tags]), intent="in-service", needs=("free=60GiB",))
    assert findings(enough)["need.free"].verdict == "pass"
    assert findings(short)["need.free"].verdict == "fail"
    assert short.readiness == "not-ready"


def test_fragmentation_needs_several_owners(tmp_path: Path) -> None:
    tags = with_tags(H100, {"fb_memory_usage/used": "40000 MiB", "fb_memory_usage/free": "41080 MiB"})
    two = compose([tags], processes={0: [process(1, "vllm"), process(2, "jupyter")]})
    one = compose([tags], processes={0: [process(n, "python3 train.py") for n in range(1, 9)]})
    wanted = {"intent": "in-service", "needs": ("free=70GiB",)}
    fragmented = findings(judged(tmp_path, two, **wanted))
    job = findings(judged(tmp_path, one, **wanted))
    assert fragmented["memory.fragmented"].verdict == "fail"
    assert fragmented["need.free"].caused_by == "memory.fragmented"
    assert job["memory.fragmented"].verdict == "skipped"
    assert job["need.free"].verdict == "fail"


@pytest.mark.parametrize(
    ("needs", "rule", "verdict"),
    [
        (("boards=1",), "need.boards", "pass"),
        (("boards=2",), "need.boards", "fail"),
        (("cuda=13.0",), "need.cuda", "pass"),
        (("cuda=13.1",), "need.cuda", "fail"),
        ((), "need.boards", "skipped"),
    ],
)
def test_needs_are_judged_as_rules(tmp_path: Path, needs: tuple[str, ...], rule: str, verdict: str) -> None:
    assert findings(judged(tmp_path, compose([H100]), needs=needs))[rule].verdict == verdict


def test_read_needs() -> None:
    values = read_needs(["free=70GiB", "boards=8"])
    assert values["need.free_bytes"] == 70 * 2**30
    assert values["need.board_count"] == 8
    assert isinstance(values["need.cuda_version"], Missing)
    for bad in ("free", "free=", "free=70", "free=-1 GiB", "boards=1.5", "cuda=x", "p2p"):
        with pytest.raises(BoardopsError, match="--need"):
            read_needs([bad])


def test_only_and_skip_leave_rules_unknown_and_say_so(tmp_path: Path) -> None:
    lost = with_tags(H100, {"temperature/gpu_temp": "GPU is lost"})
    result = judged(tmp_path, compose([lost]), only=("pcie.*",), skip=("pcie.replay*",))
    found = findings(result)
    assert found["board.answers"].verdict == "unknown" and not found["board.answers"].required
    assert found["pcie.replay"].verdict == "unknown"
    assert found["pcie.width"].verdict == "pass"
    assert result.partial == "nvidia-smi XML only; only rules pcie.*; without rules pcie.replay*"


def test_only_the_selected_board_counts(tmp_path: Path) -> None:
    narrow = with_tags(
        H100,
        {"pci/pci_bus_id": "00000000:2A:00.0", "pci/pci_gpu_link_info/link_widths/current_link_width": "4x"},
    )
    text = compose([H100, narrow])
    assert judged(tmp_path, text).readiness == "not-ready"
    good = judged(tmp_path, text, boards=("18:00.0",))
    assert good.readiness == "ready" and good.usable == 1
    assert [board.selected for board in good.boards] == [True, False]


def test_selectors() -> None:
    boards = (
        Board(vendor="nvidia", pci_address="0000:18:00.0", uuid="GPU-A", serial="1", index=0),
        Board(vendor="nvidia", pci_address="0001:2a:00.0", uuid="GPU-B", serial="2", index=1),
    )
    for selector, chosen in {
        "0000:18:00.0": (True, False),
        "18:00.0": (True, False),
        "*:2A:*": (False, True),
        "gpu-b": (False, True),
        "nvidia": (True, True),
        "0": (True, False),
        "00000000:18:00.0": (True, False),
    }.items():
        assert select_boards(boards, [selector]) == chosen, selector
    with pytest.raises(BoardopsError, match=r"0000:18:00\.0"):
        select_boards(boards, ["9"])


def test_a_file_without_boards_is_never_ready(tmp_path: Path) -> None:
    result = judged(tmp_path, compose([]))
    assert result.readiness == "unknown" and result.cause == "no board was seen"
    assert result.score is None
    assert judged(tmp_path, compose([]), needs=("boards=8",)).readiness == "not-ready"


def test_boards_without_an_entry_keep_the_host_from_being_ready(tmp_path: Path) -> None:
    result = judged(tmp_path, compose([H100], attached=8))
    found = findings(result)["boards.listed"]
    assert found.verdict == "unknown" and "7 of 8 attached boards have no entry" in found.reason
    assert result.readiness == "unknown"
    assert judged(tmp_path, compose([H100], attached=8), skip=("boards.listed",)).readiness == "ready"


@pytest.mark.parametrize(
    ("tags", "needs", "rule"),
    [
        ({"fb_memory_usage/free": "N/A"}, ("free=70GiB",), "need.free"),
        ({}, ("cuda=12.8",), "need.cuda"),
    ],
)
def test_a_need_that_cannot_be_checked_is_never_met(
    tmp_path: Path, tags: dict[str, str], needs: tuple[str, ...], rule: str
) -> None:
    result = judged(tmp_path, compose([with_tags(H100, tags)], cuda="N/A"), needs=needs)
    assert findings(result)[rule].verdict == "unknown"
    assert result.readiness == "unknown"


@pytest.mark.parametrize("need", ["boards=8", "free=10TiB", "cuda=12.8"])
def test_the_processor_meets_no_need_of_boards(tmp_path: Path, need: str) -> None:
    assert perform(Request(cpu=True, site_rules=tmp_path, needs=(need,)), lambda: NOW).readiness in {
        "unknown",
        "not-ready",
    }


def test_site_rules_come_between_the_shipped_and_those_asked_for(tmp_path: Path) -> None:
    site = tmp_path / "rules.d"
    site.mkdir()
    for path, limit in ((site / "10-site.yaml", 5), (tmp_path / "mine.yaml", 6)):
        path.write_text(
            f"schema: boardops.rules/1\nrules:\n  - id: pcie.replay\n    expect: {{at_most: {limit}}}\n",
            encoding="utf-8",
        )
    layers = rule_layers([str(tmp_path / "mine.yaml")], site)
    assert [Path(name).name for name, _ in layers] == ["rules.yaml", "10-site.yaml", "mine.yaml"]
    text = compose([with_tags(H100, {"pci/replay_counter": "7"})])
    found = findings(judged(tmp_path, text, site_rules=site, rules=(str(tmp_path / "mine.yaml"),)))
    assert found["pcie.replay"].note and found["pcie.replay"].expected == "at most 6"


def test_the_same_file_gives_the_same_report(tmp_path: Path) -> None:
    text = compose([H100, with_tags(H100, {"pci/pci_bus_id": "00000000:2A:00.0", "temperature/gpu_temp": "ERR!"})])
    first, second = judged(tmp_path, text), judged(tmp_path, text)
    assert first.boards == second.boards and first.host == second.host
    assert first.readiness == "unknown", "a required temperature could not be read"


def test_the_processor_is_a_stand_in_board(tmp_path: Path) -> None:
    result = perform(Request(cpu=True, site_rules=tmp_path), lambda: NOW)
    (board,) = result.boards
    assert board.vendor == "cpu"
    assert result.readiness == "ready"
    assert result.score == 100
    assert findings(result)["memory.seen"].verdict == "pass"
    assert findings(result)["host.seen"].verdict == "pass"


def test_a_live_run_without_boards_is_unknown(tmp_path: Path) -> None:
    result = perform(Request(site_rules=tmp_path), lambda: NOW)
    assert result.readiness == "unknown"
    assert result.cause is not None and "no board was seen" in result.cause


NOT_NEEDED = {"yaml", "hashlib", "difflib", "statistics", "jinja2", "json", "pathlib", "tempfile", "traceback"}


def test_a_run_that_only_looks_imports_only_what_it_needs(tmp_path: Path) -> None:
    # In a process of its own, since pytest imports all of these; the first run may have to read the YAML.
    code = f"""
import os, sys
from boardops.cli.main import run
sys.stdout = open(os.devnull, "w")
run(["check", "--format", "json", "--root", {str(tmp_path / "root")!r}])
print(sorted({NOT_NEEDED} & set(sys.modules)), file=sys.stderr)
"""
    machine("nvidia", 1).write(tmp_path / "root")
    surroundings = {**os.environ, "PYTHONPYCACHEPREFIX": str(tmp_path), **Nvml(tmp_path, count=1).environment()}
    surroundings.pop("PYTHONDONTWRITEBYTECODE", None)
    time.sleep(max(0.0, 2.1 - (time.time() - max(path.stat().st_mtime for path in PACKAGE.rglob("*.py")))))
    run = [sys.executable, "-c", code]
    for last in ("", "[]\n"):
        done = subprocess.run(run, env=surroundings, capture_output=True, text=True, check=True)
        assert done.stderr.endswith(last)


def test_an_error_in_the_rules_ends_what_was_started(tmp_path: Path) -> None:
    (tmp_path / "bad.yaml").write_text("schema: boardops.rules/0\n")
    driver = Nvml(tmp_path / "driver", count=1).hang("nvmlInit*")
    mark = f"BOARDOPS_TEST_MARK={tmp_path}"
    done = boardops(
        "check",
        "--rules",
        str(tmp_path / "bad.yaml"),
        env={**driver.environment(), "BOARDOPS_TEST_MARK": str(tmp_path)},
    )
    assert done.returncode == 3 and "bad.yaml:1: schema must be" in done.stderr
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            assert mark.encode() not in (folder / "environ").read_bytes().split(b"\0"), folder
