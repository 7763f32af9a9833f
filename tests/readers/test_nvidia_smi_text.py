"""The reader of `nvidia-smi -q` as plain text: it says what the reader of the XML says."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from boardops.facts import Missing, Value
from boardops.readers import nvidia_smi_xml
from boardops.readers.nvidia_smi_text import read, recognise
from tests.smi_text import compose_text
from tests.smi_xml import H100, K80_352, compose, process, with_tags

OTHERWISE = {"processes", "power.draw_watts"}
"""Facts of which a cut text may have a part: fewer processes, and average power in place of the instant one."""
WORDS = st.text(st.characters(codec="ascii", categories=["L", "N", "P", "S", "Zs"]), max_size=20)


def boards(text: str) -> tuple[Mapping[str, Value], ...]:
    return read(text.encode()).boards


@pytest.mark.parametrize(("base", "driver"), [(H100, "580.95.05"), (K80_352, "352.99")], ids=["h100", "k80"])
@pytest.mark.parametrize("width", [42, 55])
def test_text_and_xml_of_a_board_are_one(base: Mapping[str, str], driver: str, width: int) -> None:
    cuda = "13.0" if driver > "450" else None
    text = read(compose_text([base], driver, cuda, width=width).encode())
    xml = nvidia_smi_xml.read(compose([base], driver, cuda).encode())
    differing = {name for name in xml.boards[0] if text.boards[0][name] != xml.boards[0][name]}
    # The text has no word for it; the XML prints a tag that the text of old drivers names otherwise.
    assert differing <= {"power.draw_watts", "power.limit_watts", "power.default_limit_watts", "power.max_limit_watts"}
    if base is H100:
        assert not differing
    assert (text.host, text.read_at, text.problems, text.complete) == (xml.host, xml.read_at, (), True)


@given(st.dictionaries(st.sampled_from(sorted(set(H100) - {"pci/pci_bus_id", "processes", "mig_devices"})), WORDS))
def test_whatever_stands_in_a_value_both_formats_read_it_alike(changes: dict[str, str]) -> None:
    changes = {tag: " ".join(text.split()) or "N/A" for tag, text in changes.items()}
    changes["retired_pages/pending_blacklist"] = changes.get("retired_pages/pending_retirement", "N/A")
    board = with_tags(H100, changes)
    assert boards(compose_text([board])) == nvidia_smi_xml.read(compose([board]).encode()).boards


def test_processes_with_odd_names() -> None:
    own = [process(11, "[celeryd: a@b:MainProcess] -active- (-A x)"), process(12, "C:\\app.exe : x", "N/A", "G")]
    text, xml = boards(compose_text([H100], processes={0: own})), compose([H100], processes={0: own})
    assert text[0]["processes"] == nvidia_smi_xml.read(xml.encode()).boards[0]["processes"]


def test_a_driver_that_calls_its_version_deprecated() -> None:
    text = compose_text([H100], "610.57.04 [Deprecated; will be removed in CUDA 14.0. Use KMD Version instead]")
    assert read(text.encode()).host["software.nvidia_driver_version"] == "610.57.04"
    kmd = compose_text([H100], "620.1").replace("Driver Version", "KMD Version").replace("CUDA Ver", "CUDA UMD Ver")
    host = read(kmd.encode()).host
    assert (host["software.nvidia_driver_version"], host["software.cuda_driver_version"]) == ("620.1", "13.0")


def test_power_limits_in_a_section_of_their_own() -> None:
    gone = [f"gpu_power_readings/{word}_power_limit" for word in ("current", "default")]
    text = compose_text([with_tags(H100, without=gone)]).replace(
        "    GPU Power Readings\n",
        "    GPU Power Readings\n        GPU Ceiling Power Limit\n            Current Power Limit : 650.00 W\n"
        "            Default Power Limit : 700.00 W\n",
    )
    (board,) = boards(text)
    assert (board["power.limit_watts"], board["power.default_limit_watts"]) == (650.0, 700.0)


@given(st.integers(0, 5000))
def test_a_cut_text_is_never_complete(at: int) -> None:
    text = compose_text([H100, with_tags(H100, {"pci/pci_bus_id": "00000000:2A:00.0"})])
    cut = text[: min(at, text.rindex("Processes") - 1)]
    if not recognise(cut.encode()):
        return
    reading = read(cut.encode())
    whole = {board["pci_address"]: board for board in boards(text)}
    # Cut between two boards it looks whole, and lacks a board that is attached.
    assert not reading.complete or not reading.boards or isinstance(reading.host["boards_listed_count"], Missing)
    for board in reading.boards:
        for name, value in board.items():
            assert isinstance(value, Missing) or value == whole[board["pci_address"]][name] or name in OTHERWISE


def test_one_section_makes_no_board_fine() -> None:
    tags = {path: text for path, text in H100.items() if path.startswith("retired_pages/")}
    section = compose_text([{"pci/pci_bus_id": "00000000:18:00.0", **tags}])
    (board,) = boards(section.replace("    PCI\n        Bus Id                            : 00000000:18:00.0\n", ""))
    value = board["temperature.core_celsius"]
    assert isinstance(value, Missing) and value.kind == "unreadable" and "-d" in value.why
    assert board["pci_address"] == "0000:18:00.0"


def test_what_the_tool_says_beside_is_kept() -> None:
    text = "WARNING: infoROM is corrupted at gpu 0000:18:00.0\n" + compose_text([H100])
    text += "Unable to determine the device handle for GPU 0000:2A:00.0: Unknown Error\n"
    reading = read(text.encode())
    assert len(reading.problems) == 2 and "infoROM is corrupted" in reading.problems[0]
    assert {board["pci_address"]: board["lost"] for board in reading.boards} == {
        "0000:18:00.0": False,
        "0000:2a:00.0": True,
    }


def test_recognition() -> None:
    assert recognise(compose_text([H100]).encode()) and not recognise(compose([H100]).encode())
