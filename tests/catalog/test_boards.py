"""The board catalog: known facts, that every entry can be trusted as far as it says, and strict reading."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from boardops import rules
from boardops.catalog import boards
from boardops.catalog.boards import BoardEntry, all_boards, find_board, read_boards
from boardops.catalog.sourced import CONFIDENCES, read_catalog, text_of
from boardops.yamlfile import YamlError

CAPTURES = Path(__file__).parents[3] / "shared" / "captures" / "nvidia" / "xml"
PCI_VENDORS = {"nvidia": "10de", "amd": "1002", "ascend": "19e5", "cambricon": "cabc"}

MINIMAL = """\
schema: boardops.boards/1
read: 2026-12-01
sources:
  sheet: a data sheet
boards:
  - id: one
    vendor: nvidia
    names: [One]
    pci_ids: ["10de:0001"]
    sources: [sheet]
    confidence: high
"""


@pytest.mark.parametrize(
    ("pci_id", "model", "expected"),
    [
        ("10de:2330", "NVIDIA H100 80GB HBM3", "h100-sxm5"),
        ("10DE:2330", None, "h100-sxm5"),
        ("10de:2330", "a name that nobody knows", "h100-sxm5"),
        (None, "NVIDIA H100 80GB HBM3", "h100-sxm5"),
        (None, "NVIDIA H100", None),
        ("10de:20b0", None, "a100-sxm4-40"),
        (None, "A100-SXM4-40GB", "a100-sxm4-40"),
        ("10de:2941", None, "gb200"),
        ("10de:2341", "NVIDIA GB200", "gb200"),
        ("10de:2341", None, None),
        ("10de:31c2", None, "gb300"),
        ("10de:2e12", None, "gb10"),
        ("10de:1b80", "GeForce GTX 1080", None),
        ("10de:1b80", "NVIDIA GeForce GTX 1080", None),
        ("1002:74a1", None, "mi300x"),
        ("19e5:d802", "910B3", "ascend-910b3"),
        ("19e5:d802", "910B4", "ascend-910b4"),
        ("19e5:d802", None, None),
        ("19e5:d802", "MLU370-X8", None),
        ("19e5:d803", "Ascend910", "ascend-910c"),
        ("cabc:0370", "MLU370-X8", "mlu370-x8"),
        (None, "MLU370-X4", "mlu370-x4"),
        (None, None, None),
        ("", "", None),
    ],
)
def test_boards_are_found_by_pci_id_then_by_printed_name(
    pci_id: str | None, model: str | None, expected: str | None
) -> None:
    entry = find_board(pci_id, model)
    assert (entry.id if entry else None) == expected


@pytest.mark.parametrize(
    ("id_", "generation", "width", "width_min", "links", "slowdown"),
    [
        ("h100-sxm5", 5, 16, 16, 18, 89),
        ("a100-sxm4-40", 4, 16, 16, 12, 89),
        ("a100-sxm4-80", 4, 16, 16, 12, 89),
        ("b200-sxm", 5, 16, 16, 18, 91),
        ("v100-sxm2-32", 3, 16, 16, 6, 87),
        ("t4", 3, 16, 8, None, 93),
        ("l40s", 4, 16, 8, None, 90),
        ("gb200", 5, 16, None, 18, 89),
        ("gb300", 6, 16, None, 18, 89),
        ("mi300x", 5, 16, 16, 7, None),
        ("mlu290-m5", 4, 16, 16, 6, None),
        ("gb10", None, None, None, None, None),
    ],
)
def test_known_figures(
    id_: str, generation: int | None, width: int | None, width_min: int | None, links: int | None, slowdown: int | None
) -> None:
    entry = by_id(id_)
    found = (entry.pcie_generation, entry.pcie_width_lanes, entry.pcie_width_min_lanes, entry.link_count)
    assert found == (generation, width, width_min, links)
    assert entry.slowdown_celsius == slowdown


def by_id(id_: str) -> BoardEntry:
    return next(entry for entry in all_boards() if entry.id == id_)


def test_every_vendor_of_the_rules_is_a_vendor_here() -> None:
    assert set(boards.VENDORS) == set(rules.VENDORS) - {"cpu"}
    assert CONFIDENCES == rules.CONFIDENCES
    assert {entry.vendor for entry in all_boards()} == set(PCI_VENDORS)


@pytest.mark.parametrize("entry", all_boards(), ids=lambda entry: entry.id)
def test_every_entry_agrees_with_itself(entry: BoardEntry) -> None:
    assert all(pci_id.startswith(PCI_VENDORS[entry.vendor]) for pci_id in entry.pci_ids)
    assert entry.sources and entry.confidence in CONFIDENCES
    assert not (entry.row_remapping and entry.page_retirement), "a board has one way to put bad memory aside"
    if entry.pcie_width_min_lanes is not None:
        assert entry.pcie_width_lanes is not None and entry.pcie_width_min_lanes <= entry.pcie_width_lanes
    if entry.slowdown_celsius is not None and entry.shutdown_celsius is not None:
        assert 80 <= entry.slowdown_celsius < entry.shutdown_celsius <= 120
    if entry.link_count is not None:
        assert entry.link_kind is not None
    for doubt in entry.doubts:
        assert doubt.why, f"the doubt about {doubt.key} gives no reason"


@pytest.mark.parametrize("entry", all_boards(), ids=lambda entry: entry.id)
def test_every_entry_is_found_by_each_of_its_names_and_ids(entry: BoardEntry) -> None:
    for name in entry.names:
        assert find_board(None, name) is entry
        for pci_id in entry.pci_ids:
            assert find_board(pci_id, name) is entry


def test_every_source_is_used() -> None:
    sources = read_catalog(*text_of("boards.yaml"), boards.SCHEMA, ("boards",)).sources
    assert set(sources) == {source for entry in all_boards() for source in entry.sources}


@pytest.mark.parametrize(
    ("id_", "key", "expected"),
    [
        ("h100-sxm5", "temperature.shutdown_celsius", "medium"),
        ("h100-sxm5", "temperature.slowdown_celsius", "high"),
        ("b200-sxm", "temperature.slowdown_celsius", "medium"),
        ("l4", "pcie.width_min_lanes", "guess"),
        ("t4", "pcie.width_min_lanes", "high"),
    ],
)
def test_a_doubt_counts_for_its_value_or_its_group(id_: str, key: str, expected: str) -> None:
    assert by_id(id_).confidence_of(key) == expected


@pytest.mark.parametrize(
    ("old", "new", "line", "words"),
    [
        ("    confidence: high", "    confidense: high", 11, "unknown key 'confidense'; did you mean 'confidence'?"),
        ("    confidence: high", "    confidence: sure", 11, "confidence must be one of"),
        ("    confidence: high\n", "", 6, "a board lacks the key 'confidence'"),
        ("vendor: nvidia", "vendor: nvidea", 7, "did you mean 'nvidia'?"),
        ("names: [One]", "names: []", 8, "at least one printed name"),
        ("10de:0001", "10DE:0001", 9, "a PCI id must look like"),
        ("10de:0001", "0001", 9, "a PCI id must look like"),
        ("[sheet]", "[sheat]", 10, "the source 'sheat' is not among the sources of this file; did you mean 'sheet'?"),
        ("[sheet]", "[]", 10, "at least one source"),
        ("[sheet]", "[sheet]\n    pcie: {lanes: 16}", 11, "pcie has the unknown key 'lanes'"),
        ("[sheet]", "[sheet]\n    pcie: {width_lanes: 0}", 11, "width_lanes must be a whole number above 0"),
        ("[sheet]", "[sheet]\n    pcie: {width_lanes: 7.5}", 11, "width_lanes must be a whole number above 0"),
        ("[sheet]", "[sheet]\n    features: {ecc: yes}", 11, "ecc must be true or false, not 'yes'"),
        ("[sheet]", "[sheet]\n    link: {kind: nvlnk}", 11, "did you mean 'nvlink'?"),
        ("[sheet]", "[sheet]\n    doubts: {tdp: {confidence: low, why: x}}", 11, "doubts has the unknown key 'tdp'"),
        ("[sheet]", "[sheet]\n    doubts: {names: {confidence: low}}", 11, "lacks the key 'why'"),
        ("read: 2026-12-01", "read: yesterday", 2, "read must be a day"),
        ("boards/1", "boards/2", 1, "schema must be one of boardops.boards/1"),
        ("boards:\n", "extra: 1\nboards:\n", 5, "the catalog has the unknown key 'extra'"),
    ],
)
def test_a_broken_catalog_names_file_and_line(old: str, new: str, line: int, words: str) -> None:
    assert old in MINIMAL
    with pytest.raises(YamlError) as caught:
        read_boards(MINIMAL.replace(old, new), "mine.yaml")
    assert (caught.value.file, caught.value.line) == ("mine.yaml", line)
    assert words in caught.value.message


@pytest.mark.parametrize(
    ("second", "words"),
    [
        ("id: one", "the id one is already that of the board one"),
        ("id: two", "the name One is already that of the board one"),
    ],
)
def test_ids_and_names_stand_once(second: str, words: str) -> None:
    entry = MINIMAL[MINIMAL.index("  - id: one") :]
    with pytest.raises(YamlError, match=re.escape(words)):
        read_boards(MINIMAL + entry.replace("id: one", second), "mine.yaml")


def test_a_pci_id_may_be_shared_under_other_names() -> None:
    entry = MINIMAL[MINIMAL.index("  - id: one") :]
    both = read_boards(MINIMAL + entry.replace("id: one", "id: two").replace("[One]", "[Two]"), "mine.yaml")
    assert [entry.pci_ids for entry in both] == [("10de:0001",), ("10de:0001",)]


def test_what_is_left_out_is_none() -> None:
    (entry,) = read_boards(MINIMAL, "mine.yaml")
    assert (entry.ecc, entry.memory_gb, entry.pcie_width_min_lanes, entry.slowdown_celsius) == (None,) * 4
    assert (entry.unified_memory, entry.link_kind, entry.doubts) == (None, None, ())


@given(st.none() | st.text(max_size=20), st.none() | st.text(max_size=40))
def test_any_text_may_be_asked_for(pci_id: str | None, model: str | None) -> None:
    entry = find_board(pci_id, model)
    assert entry is None or entry in all_boards()


@pytest.mark.skipif(not CAPTURES.is_dir(), reason="the folder of captured tool output is not here")
def test_boards_that_print_absolute_limits_print_those_of_the_catalog() -> None:
    seen = 0
    for path in sorted(CAPTURES.glob("*.xml")):
        if path.name.startswith("mock-"):
            continue  # Made up by a simulator, with limits of its own.
        for part in path.read_text(encoding="utf-8").split("<gpu id=")[1:]:
            entry = find_board(_pci_id(part), _tag(part, "product_name"))
            slowdown = re.match(r"(\d+) C", _tag(part, "gpu_temp_slow_threshold"))
            if entry is not None and slowdown:
                assert entry.slowdown_celsius == int(slowdown[1]), entry.id
                seen += 1
    assert seen >= 2


def _tag(part: str, name: str) -> str:
    found = re.search(f"<{name}>([^<]*)<", part)
    return found[1] if found else ""


def _pci_id(part: str) -> str:
    text = _tag(part, "pci_device_id").lower()
    return f"{text[4:]}:{text[:4]}"
