"""What a report must say, and what it must not count."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.program import boardops
from tests.complaints.sent import board_judged
from tests.live import findings, standin
from tests.smi_xml import H100, compose, with_tags

FAILED = {"remapped_rows/remapped_row_failure": "Yes"}
SHADOW = """\
schema: boardops.rules/1
rules:
  - id: rows.failed
    severity: note
    cases: [{given: {board.rows.failed: true}, verdict: pass, note: true}]
"""


@pytest.mark.parametrize(
    ("changes", "options", "code", "rule"),
    [
        (FAILED, (), 2, "rows.failed"),
        ({"remapped_rows/remapped_row_pending": "Yes"}, (), 1, "rows.pending"),
        ({"remapped_rows/remapped_row_failure": "ERR!"}, (), 3, "rows.failed"),
        ({}, ("--need", "boards=2"), 2, "need.boards"),
    ],
    ids=["fail", "warn", "unknown", "host"],
)
def test_one_line_gives_the_reason(changes: dict[str, str], options: tuple[str, ...], code: int, rule: str) -> None:
    """nebius/nebius-solutions-library PR 265, GoogleCloudPlatform/slurm-gcp PR 223: prologs call the scheduler only to
    leave a reason. koordinator-sh/koordinator#2698: say why it is unhealthy."""
    text = compose([with_tags(H100, changes)])
    done = boardops("check", "--quiet", "--from", "-", *options, stdin=text.encode())
    assert done.returncode == code and len(done.stdout.splitlines()) == 1
    assert rule in done.stdout


def test_one_line_gives_the_reason_where_no_job_starts(tmp_path: Path) -> None:
    """dstackai/dstack#2348: all boards look well, and CUDA ends with error 802."""
    machine = standin(tmp_path, 1)
    assert machine.cuda is not None
    machine.cuda = machine.cuda.init_fails(802)
    assert machine.check()[0] == 2
    done = boardops("check", "--quiet", "--from", str(tmp_path / "run.record"))
    assert done.returncode == 2 and "runtime.cuda" in done.stdout


@pytest.mark.parametrize(("printed", "verdict"), [("Yes", "pass"), ("ERR!", "unknown")])
def test_a_check_on_trial_is_shown_and_does_not_count(tmp_path: Path, printed: str, verdict: str) -> None:
    """Datura-ai/lium-io PR 1297: a new probe of faults runs in the shadow before it counts."""
    rules = tmp_path / "site.yaml"
    rules.write_text(SHADOW, encoding="utf-8")
    code, report = board_judged({"remapped_rows/remapped_row_failure": printed}, "--rules", str(rules))
    found = findings(report, 0)["rows.failed"]
    assert (code, report["score"], found["verdict"]) == (0, 100, verdict)
    assert found["note"] or found["missing"] == "error"


def test_a_check_that_was_left_out_lowers_no_score(tmp_path: Path) -> None:
    """derailed/popeye#539: checks that were excluded still lower the score."""
    code, report = board_judged(FAILED, "--skip", "rows.*")
    assert (code, report["score"]) == (0, 100)
    assert "without rules rows.*" in report["partial"], "what was left out is in the headline"
