"""What all reports share: the order, and one entry for each root cause."""

from __future__ import annotations

from boardops.report.view import view, worst_finding
from tests.report import samples


def test_worst_board_first_and_each_cause_once() -> None:
    shown = view(samples.faulty())
    assert [board.score for board in shown.boards[:3]] == [0, 40, 40]
    assert [item.finding.rule for item in shown.items] == ["board.answers", "pcie.width", "temperature.core"]
    lost = shown.items[0]
    assert [place.label for place in lost.places] == ["ba:00.0"]
    assert "temperature.core" in lost.explains and "board.answers" not in lost.explains
    assert shown.items[2].explains == ("throttle.thermal", "throttle.hardware")
    assert shown.counts == (("ready", 5), ("not-ready", 3))


def test_the_same_finding_on_several_boards_is_told_once() -> None:
    from tests.smi_xml import H100, compose, with_tags

    boards = [
        with_tags(H100, {"pci/pci_bus_id": f"00000000:{bus}:00.0", "persistence_mode": "Disabled"})
        for bus in ("18", "2A")
    ]
    (item,) = view(samples.judged(compose(boards))).items
    assert [place.label for place in item.places] == ["18:00.0", "2a:00.0"]


def test_unknown_is_told_and_what_was_not_collected_is_grouped() -> None:
    shown = view(samples.unseen())
    (item,) = shown.items
    assert (item.finding.verdict, item.finding.rule) == ("unknown", "temperature.core")
    assert item.explains == ("temperature.idle",)
    not_read, no_log = shown.unseen
    assert "host.seen" in not_read.rules
    assert {"faults.hardware", "faults.host"} <= set(no_log.rules)


def test_a_healthy_board_asks_for_nothing() -> None:
    result = samples.healthy()
    shown = view(result)
    assert shown.items == () and shown.notes == ()
    assert worst_finding(result.boards[0], result.host.findings) is None


def test_boards_that_are_not_selected_ask_for_nothing() -> None:
    from examples.compose import example

    result = samples.judged(example(), intent="in-service", boards=("18:00.0",))
    shown = view(result)
    assert shown.items == () and shown.selected == 1 and len(shown.boards) == 8
