"""The driver catalog: ends of life, floors and ceilings that are known, and strict reading."""

from __future__ import annotations

import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from boardops.catalog.boards import all_boards
from boardops.catalog.nvidia_driver_table import SCHEMA, read_drivers
from boardops.catalog.nvidia_drivers import (
    branch_of,
    cuda_ceiling,
    driver_floor,
    end_of_life,
    last_branch_for,
    newest_cuda_for,
    nvidia_drivers,
    oldest_driver_for,
    support_end,
)
from boardops.catalog.sourced import CONFIDENCES, read_catalog, text_of
from boardops.versions import version_key
from boardops.yamlfile import YamlError

PARTS = ("branches", "floors", "toolkits", "architectures")

MINIMAL = """\
schema: boardops.nvidia_drivers/1
read: 2026-12-01
sources:
  page: a page
branches:
  - branch: 580
    kind: LTS
    first_release: 2025-08-04
    ends: [{date: 2028-06, source: page}]
    max_cuda: {version: "13.0", confidence: high, why: x}
    sources: [page]
    confidence: high
floors:
  - {cuda_major: 13, driver: "580", sources: [page], confidence: high}
toolkits:
  - {cuda: "13.0", drivers: ["580.65.06", "580.82.07"], source: page, confidence: high}
architectures:
  - {architecture: Volta, last_branch: 580, sources: [page], confidence: high}
"""


@pytest.mark.parametrize(
    ("version", "expected", "bound"),
    [
        ("570.148.08", "2026-02-28", False),
        ("580.105.08", "2028-08-04", False),
        ("595.91.07", "2027-03-31", False),
        ("620.10", "2029-09-30", False),
        ("610.43.02", "2027-08-03", False),
        ("550.163.01", "2025-04-17", False),
        ("535.104.05", "2026-06-30", False),
        ("470.256.02", "2024-09-30", False),
        ("460.27.04", "2022-01-31", False),
        ("390.87", "2022-11-22", False),
        ("455.32", "2022-01-31", True),
        ("396.26", "2022-03-31", True),
        ("384.66", "2022-11-22", True),
        ("352.99", "2022-11-22", True),
        ("v570.148.08", None, False),
        ("615.71.09", None, False),
        ("700.10", None, False),
        ("N/A", None, False),
        ("", None, False),
    ],
)
def test_end_of_life(version: str, expected: str | None, bound: bool) -> None:
    assert end_of_life(version) == (datetime.date.fromisoformat(expected) if expected else None)
    end = support_end(version)
    assert (end is not None) == (expected is not None)
    if end is not None:
        assert end.bound is bound
        assert end.why and end.sources and end.confidence in CONFIDENCES


def test_a_bound_is_said_only_where_it_is_past() -> None:
    for number in range(300, 800):
        end = support_end(f"{number}.10")
        if end is not None and end.bound:
            assert end.date <= nvidia_drivers().read


@pytest.mark.parametrize(
    ("cuda", "expected"),
    [
        ("13.0", "580"),
        ("13.2.1", "580"),
        ("13.9", "580"),
        ("12.4", "525"),
        ("12.4.131", "525"),
        ("V12.4.131", "525"),
        ("11.8", "450.80.02"),
        ("11.0", "450.51.05"),
        ("10.2", "440.33"),
        ("10.2.89", "440.33"),
        ("10.0", "410.48"),
        ("9.0", "384.81"),
        ("10.3", None),
        ("14.0", None),
        ("12", None),
        ("12.x", None),
        ("N/A", None),
        ("", None),
    ],
)
def test_the_oldest_driver_for_a_cuda_version(cuda: str, expected: str | None) -> None:
    assert oldest_driver_for(cuda) == expected
    limit = driver_floor(cuda)
    assert limit is None or (limit.why and limit.sources and limit.confidence in CONFIDENCES)


@pytest.mark.parametrize(
    ("driver", "expected", "confidence"),
    [
        ("595.91.07", "13.2", "high"),
        ("580.105.08", "13.0", "high"),
        ("570.148.08", "12.8", "high"),
        ("565.57.01", "12.7", "medium"),
        ("550.163.01", "12.4", "high"),
        ("460.27.04", "11.2", "high"),
        ("390.87", "9.1", "medium"),
        ("396.37", "9.2", "low"),
        ("384.90", "9.0", "low"),
        ("384.66", "8.0", "low"),
        ("340.108", None, None),
        ("620.10", None, None),
        ("700.10", None, None),
        ("N/A", None, None),
    ],
)
def test_the_newest_cuda_for_a_driver(driver: str, expected: str | None, confidence: str | None) -> None:
    assert newest_cuda_for(driver) == expected
    limit = cuda_ceiling(driver)
    assert (limit.confidence if limit else None) == confidence


@pytest.mark.parametrize(
    ("version", "expected"),
    [("580.65.06", (580, "LTS")), ("595.91.07", (595, "PB")), ("384.66", None), ("700.10", None), ("N/A", None)],
)
def test_branch_of(version: str, expected: tuple[int, str] | None) -> None:
    branch = branch_of(version)
    assert (branch and (branch.branch, branch.kind)) == expected


@pytest.mark.parametrize(("architecture", "expected"), [("Volta", 580), ("Kepler", 470), ("Turing", None), ("", None)])
def test_the_last_branch_for_an_architecture(architecture: str, expected: int | None) -> None:
    last = last_branch_for(architecture)
    assert (last.branch if last else None) == expected


def test_architectures_are_named_as_in_the_board_catalog() -> None:
    assert any(last_branch_for(entry.architecture or "") for entry in all_boards())


def test_every_branch_agrees_with_itself() -> None:
    for branch in nvidia_drivers().branches:
        assert branch.sources and branch.confidence in CONFIDENCES
        if branch.end is not None and branch.first_release is not None:
            assert all(end.date > branch.first_release for end in branch.ends)
            assert branch.end.date == max(end.date for end in branch.ends)


def test_every_toolkit_driver_serves_its_toolkit() -> None:
    for toolkit in nvidia_drivers().toolkits:
        ceiling = newest_cuda_for(toolkit.drivers[-1])
        assert ceiling is not None and version_key(ceiling) >= version_key(toolkit.cuda), toolkit
        oldest = oldest_driver_for(toolkit.cuda)
        assert oldest is not None and version_key(oldest) <= version_key(toolkit.drivers[0]), toolkit


def test_every_source_is_used() -> None:
    table = nvidia_drivers()
    named = {source for branch in table.branches for source in branch.sources}
    named |= {source for floor in table.floors for source in floor.sources}
    named |= {source for last in table.architectures for source in last.sources}
    sources = read_catalog(*text_of("nvidia_drivers.yaml"), SCHEMA, PARTS).sources
    assert set(sources) == named | {toolkit.source for toolkit in table.toolkits}


@pytest.mark.parametrize(
    ("old", "new", "line", "words"),
    [
        ("    kind: LTS", "    kindd: LTS", 7, "a branch has the unknown key 'kindd'; did you mean 'kind'?"),
        ("    kind: LTS", "    kind: STS", 7, "kind must be one of LTS, PB, NFB, not 'STS'"),
        ("date: 2028-06,", "date: 2028-13,", 9, "date must be a day (2026-12-01) or a month (2026-12), not '2028-13'"),
        ("date: 2028-06,", "date: 2028-02-30,", 9, "not '2028-02-30'"),
        ("date: 2028-06, source: page", "date: 2028-06, source: pgae", 9, "did you mean 'page'?"),
        ('version: "13.0"', "version: new", 10, "version must be a version, not 'new'"),
        ('["580.65.06", "580.82.07"]', "[]", 16, "at least one driver"),
        ('["580.65.06", "580.82.07"]', '["580.82.07", "580.65.06"]', 16, "oldest first"),
        ("last_branch: 580", "last_branch: R580", 18, "last_branch must be a number"),
        ("cuda_major: 13", "cuda_major: 0", 14, "cuda_major must be a whole number above 0"),
        ("floors:", "floor:", 13, "the catalog has the unknown key 'floor'; did you mean 'floors'?"),
    ],
)
def test_a_broken_catalog_names_file_and_line(old: str, new: str, line: int, words: str) -> None:
    assert old in MINIMAL
    with pytest.raises(YamlError) as caught:
        read_drivers(MINIMAL.replace(old, new), "mine.yaml")
    assert (caught.value.file, caught.value.line) == ("mine.yaml", line)
    assert words in caught.value.message


@pytest.mark.parametrize(
    ("part", "after", "words"),
    [
        ("  - {branch: 590, sources: [page], confidence: high}\n", "floors:", "branches must be listed once each"),
        ("  - {branch: 580, sources: [page], confidence: high}\n", "floors:", "branches must be listed once each"),
        (
            '  - {cuda: "13.1", drivers: ["590.1"], source: page, confidence: high}\n',
            "architectures:",
            "toolkits must be listed once each",
        ),
    ],
)
def test_lists_run_from_newest_to_oldest(part: str, after: str, words: str) -> None:
    with pytest.raises(YamlError, match=words):
        read_drivers(MINIMAL.replace(after, part + after), "mine.yaml")


@given(st.text(max_size=20))
def test_any_text_may_be_asked_for(text: str) -> None:
    for answer in (end_of_life(text), oldest_driver_for(text), newest_cuda_for(text), branch_of(text)):
        assert answer is None or answer


@given(st.integers(300, 800), st.integers(0, 300))
def test_a_newer_driver_never_serves_less(branch: int, patch: int) -> None:
    here, newer = newest_cuda_for(f"{branch}.{patch}"), newest_cuda_for(f"{branch + 1}.{patch}")
    if here is not None and newer is not None:
        assert version_key(newer) >= version_key(here)
