"""What the README and the docs show is what the program does."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest

from boardops.cli.main import COMMANDS
from boardops.rules import load
from boardops.yamltext import read_yaml
from examples.compose import COMMAND, FOLDER, example
from tests.cli.program import ROOT, boardops

README = (ROOT / "README.md").read_text(encoding="utf-8")
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def test_the_screen_in_the_readme_is_real() -> None:
    match = re.search(r"<!-- screen: boardops (.*?) -->\n```\n(.*?)```\n<!-- end of screen -->", README, re.DOTALL)
    assert match is not None
    done = boardops(*shlex.split(match[1]))
    assert done.returncode == 2
    assert match[2] == done.stdout, "run `python -m examples.compose`"


def test_the_screens_of_explained_faults_are_real() -> None:
    text = (ROOT / "docs" / "explain-a-fault.md").read_text(encoding="utf-8")
    screens = re.findall(r"<!-- screen: boardops (.*?) -->\n```\n(.*?)```\n<!-- end of screen -->", text, re.DOTALL)
    shown = re.findall(r"^boardops (explain \S+) +#", text, re.MULTILINE)
    assert len(screens) == 1 and len(shown) == 4
    for command, screen in screens:
        assert screen == boardops(*shlex.split(command)).stdout, command
    for command in shown:
        assert boardops(*shlex.split(command)).returncode == 0, command


def test_the_example_is_composed_and_its_reports_are_up_to_date() -> None:
    assert (FOLDER / "eight-boards.xml").read_text(encoding="utf-8") == example()
    fresh = json.loads(boardops(*COMMAND, "--format", "json").stdout)
    kept = json.loads((FOLDER / "eight-boards.json").read_text(encoding="utf-8"))
    for report in (fresh, kept):
        for key in ("started_at", "seconds"):
            report.pop(key)
    assert fresh == kept, "run `python -m examples.compose`"
    assert [board["readiness"] for board in kept["boards"]].count("not-ready") == 3


def test_every_command_in_the_readme_is_known() -> None:
    commands = set(re.findall(r"^(?:.*\| )?boardops (\w+)", README, re.MULTILINE))
    assert commands <= set(COMMANDS)
    assert commands >= {"check", "rules", "explain"}


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_links_lead_somewhere(path: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", path.read_text(encoding="utf-8")):
        if "://" not in target:
            assert (path.parent / target).exists(), target


def test_the_rules_in_the_docs_load_and_their_cases_hold(tmp_path: Path) -> None:
    text = (ROOT / "docs" / "write-a-rule.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```yaml\n(.*?)```", text, re.DOTALL)
    assert len(blocks) == 3
    shipped = (ROOT / "rules.yaml").read_text(encoding="utf-8")
    for number, block in enumerate(blocks):
        load([("rules.yaml", shipped), (f"block-{number}", block)])
        path = tmp_path / f"{number}.yaml"
        path.write_text(block, encoding="utf-8")
        done = boardops("rules", "test", "--rules", str(path))
        assert done.returncode == 0, done.stdout


def test_the_table_of_exit_codes_is_the_programs() -> None:
    from boardops.cli.check import EXIT_CODES

    table = dict(re.findall(r"^\| (\d) \| ([a-z-]+)", (ROOT / "docs" / "exit-codes.md").read_text(), re.MULTILINE))
    assert table == {str(code): readiness for readiness, code in EXIT_CODES.items()}


def test_the_changelog_and_the_rules_agree_on_their_number() -> None:
    rules = read_yaml((ROOT / "rules.yaml").read_text(encoding="utf-8"), "rules.yaml").value["rules"].value
    assert f"{len(rules)} rules" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
