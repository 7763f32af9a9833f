"""The shipped rules: every case holds, everything is proven, and a changed limit breaks a case."""

from __future__ import annotations

import pytest

from boardops.cases import check_all, proofs, survivors
from boardops.cli.run import rule_layers
from boardops.facts import known
from boardops.growth import GROWN
from boardops.readers import cuda, kernel_probe, nvidia_smi_xml, nvml, pci, stuck
from boardops.readers import host as host_reader
from boardops.rules import Rule, load
from tests.golden import TABLE, table

RULES = load(rule_layers([])[:1])
BY_ID = {rule.id: rule for rule in RULES.rules}
# Facts that a later source fills, or that follow from others.
FOLLOWING = (
    "board.fault.",
    "host.fault.",
    "board.spec.",
    "board.memory.used_ratio",
    "board.memory.owner_count",
    "board.memory.offered_bytes",
    "board.pages.retired_count",
    "host.need.",
)
FILLED = {
    *nvidia_smi_xml.FILLS,
    *(f"host.{name}" for reader in (host_reader, nvml, pci, cuda, stuck, kernel_probe) for name in reader.FILLS),
    *(f"board.{name}" for reader in (nvml, pci) for name in reader.BOARD_FILLS),
    *(name for name in known() if name.startswith(FOLLOWING)),
    "host.software.nvidia_driver_support_left_seconds",
    "board.in_driver",
    "board.recovery_remedy",
    "host.vbios_version_count",
    "host.inforom_version_count",
    "host.numa_spread_count",
    "host.hung_sources",
    "host.gone_boards",
    "host.conflicts",
    *(f"board.{name}" for name in GROWN),
    "board.link.expected_count",
}

each_rule = pytest.mark.parametrize("rule", RULES.rules, ids=lambda rule: rule.id)


def test_all_cases_hold() -> None:
    results = check_all(RULES)
    assert len(results) > 200
    assert [result for result in results if not result.holds] == []


@each_rule
def test_nothing_is_unproven(rule: Rule) -> None:
    assert proofs(rule) == ()


@each_rule
def test_a_changed_limit_breaks_a_case(rule: Rule) -> None:
    assert survivors(rule) == ()


@each_rule
def test_every_rule_has_a_source_and_something_fills_its_fact(rule: Rule) -> None:
    assert rule.source.text.strip()
    assert rule.fact in FILLED, "a rule that no source can ever judge"


@each_rule
def test_a_lost_board_is_told_once(rule: Rule) -> None:
    if (
        rule.subject == "board"
        and rule.severity == "fail"
        and rule.id not in {"board.answers", "board.in_driver", "board.on_bus", "pcie.config"}
    ):
        assert "board.answers" in rule.caused_by


def test_guesses_are_named_as_such() -> None:
    guesses = {rule.id for rule in RULES.rules if rule.source.confidence == "guess"}
    assert guesses == {"memory.in_use", "memory.size", "memory.fragmented", "host.memlock", "host.numa_balance"}
    assert all("our choice" in BY_ID[name].source.text for name in guesses)


def test_what_no_case_shows_stands_in_a_table() -> None:
    assert TABLE.read_text(encoding="utf-8") == table(), "a changed weight, cap, severity or required: tests.golden"
