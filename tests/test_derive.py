"""Facts that follow from facts: the catalog's word, limits from margins, owners of memory, and N/A looked at twice."""

from __future__ import annotations

import datetime

import pytest

from boardops.derive import derive
from boardops.facts import Board, Host, Missing, Process, Value, Values
from boardops.readers.nvidia_smi_xml import read
from tests.smi_xml import H100, K80_352, compose, with_tags

AT = datetime.datetime(2026, 12, 1, tzinfo=datetime.timezone.utc)


def derived(*boards: dict[str, str], **host: Value) -> tuple[Host, tuple[Board, ...]]:
    reading = read(compose(boards).encode())
    return derive({**reading.host, **host}, reading.boards, AT)


def kind(value: object) -> str:
    assert isinstance(value, Missing), value
    return value.kind


def test_the_catalog_gives_the_model() -> None:
    _, (board,) = derived(H100)
    assert board.spec.known is True
    assert (board.spec.pcie_width_min_lanes, board.spec.pcie_generation, board.spec.ecc) == (16, 5, True)


def test_a_model_that_the_catalog_does_not_know_is_said() -> None:
    _, (board,) = derived(with_tags(H100, {"product_name": "NVIDIA Z999", "pci/pci_device_id": "FFFF10DE"}))
    assert board.spec.known is False
    assert kind(board.spec.pcie_width_lanes) == "not-supported"


def test_the_slowdown_point_follows_from_the_margin() -> None:
    _, (board,) = derived(H100)
    assert board.temperature.slowdown_celsius == 34 + 53 + 2


def test_the_boards_own_limit_beats_margin_and_catalog() -> None:
    _, (board,) = derived(with_tags(H100, {"temperature/gpu_temp_slow_threshold": "85 C"}))
    assert board.temperature.slowdown_celsius == 85


def test_without_margin_the_catalog_gives_the_slowdown_point() -> None:
    _, (board,) = derived(with_tags(H100, {"temperature/gpu_temp_tlimit": "N/A"}))
    assert board.temperature.slowdown_celsius == 89
    assert board.temperature.memory_max_celsius == 95


def test_a_limit_that_was_asked_in_vain_stays_missing() -> None:
    lost = with_tags(
        H100, {"temperature/gpu_temp_slow_threshold": "GPU is lost", "temperature/gpu_temp_tlimit": "GPU is lost"}
    )
    _, (board,) = derived(lost)
    assert kind(board.temperature.slowdown_celsius) == "lost"


def test_ratios_and_sums() -> None:
    _, (board,) = derived(with_tags(H100, {"fb_memory_usage/used": "40779.5 MiB"}))
    assert board.memory.used_ratio == pytest.approx(0.5)
    _, (old,) = derived(K80_352)
    assert old.pages.retired_count == 3
    _, (none,) = derived(with_tags(H100, {"fb_memory_usage/total": "0 MiB"}))
    assert kind(none.memory.used_ratio) == "error"


@pytest.mark.parametrize(
    ("tag", "text"),
    [
        ("ecc_mode/current_ecc", "N/A"),
        ("remapped_rows", "N/A"),
        ("ecc_errors", "N/A"),
    ],
)
def test_a_bare_na_for_what_the_model_has_is_an_error(tag: str, text: str) -> None:
    board = with_tags(H100, without=(tag,))
    _, (found,) = derived({**board, tag: text})
    value = {"ecc_mode/current_ecc": found.ecc.enabled, "remapped_rows": found.rows.failed}.get(
        tag, found.ecc.uncorrected_volatile_count
    )
    assert kind(value) == "error"
    assert isinstance(value, Missing) and "the catalog says" in value.why


def test_a_bare_na_for_what_a_neighbour_shows_is_an_error() -> None:
    other = with_tags(H100, {"pci/pci_bus_id": "00000000:2A:00.0", "temperature/memory_temp": "N/A"})
    _, (_, board) = derived(H100, other)
    value = board.temperature.memory_celsius
    assert kind(value) == "error"
    assert isinstance(value, Missing) and "0000:18:00.0, of the same model, shows it" in value.why


def test_a_neighbour_of_another_model_says_nothing() -> None:
    other = with_tags(K80_352, {"temperature/memory_temp": "N/A"})
    _, (_, board) = derived(H100, other)
    assert kind(board.temperature.memory_celsius) == "not-supported"


def test_a_not_supported_is_believed_unless_a_neighbour_has_it() -> None:
    """A board that loses a sensor says just that."""
    other = with_tags(H100, {"pci/pci_bus_id": "00000000:2A:00.0", "temperature/memory_temp": "[Not Supported]"})
    _, (_, board) = derived(H100, other)
    assert kind(board.temperature.memory_celsius) == "error"
    _, (board,) = derived(other)
    assert kind(board.temperature.memory_celsius) == "not-supported"


def test_what_the_driver_withholds_is_not_an_error() -> None:
    off = with_tags(H100, {"ecc_mode/current_ecc": "Disabled"}, without=("ecc_errors", "remapped_rows"))
    _, (board,) = derived({**off, "ecc_errors": "N/A", "remapped_rows": "N/A"})
    assert kind(board.ecc.uncorrected_volatile_count) == "not-supported"
    split = with_tags(
        H100, {"pci/pci_bus_id": "00000000:2A:00.0", "mig_mode/current_mig": "Enabled", "utilization/gpu_util": "N/A"}
    )
    _, (_, mig) = derived(H100, split)
    assert kind(mig.utilization.compute_ratio) == "not-supported"
    guest = with_tags(H100, {"gpu_virtualization_mode/virtualization_mode": "VGPU", "ecc_mode/current_ecc": "N/A"})
    _, (vgpu,) = derived(guest)
    assert kind(vgpu.ecc.enabled) == "not-supported"


@pytest.mark.parametrize(
    ("processes", "owners"),
    [
        ([], 0),
        ([Process(1, "python", "compute")] * 8, 1),
        ([Process(1, "python", "compute"), Process(2, "vllm", "compute")], 2),
        ([Process(1, "python", "compute"), Process(2, "Xorg", "graphics")], 1),
        ([Process(1, "python", "compute", owner="ann"), Process(2, "python", "compute", owner="bob")], 2),
        (
            [
                Process(1, "a", "compute", owner="ann", control_group="/job1"),
                Process(2, "b", "compute", owner="ann", control_group="/job1"),
            ],
            1,
        ),
    ],
)
def test_owners_of_memory(processes: list[Process], owners: int) -> None:
    board: Values = {"vendor": "nvidia", "model": "X", "processes": tuple(processes)}
    _, (found,) = derive({}, [board], AT)
    assert found.memory.owner_count == owners


@pytest.mark.parametrize(
    ("driver", "day", "left"),
    [
        ("580.95.05", "2028-08-04", True),
        ("570.148.08", "2026-12-01", False),
        ("570.148.08", "2026-02-28", True),
        ("570.148.08", "2026-03-01", False),
    ],
)
def test_the_end_of_a_driver_branch(driver: str, day: str, left: bool) -> None:
    at = datetime.datetime.fromisoformat(f"{day}T12:00:00+00:00")
    host, _ = derive({"software.nvidia_driver_version": driver}, [], at)
    value = host.software.nvidia_driver_support_left_seconds
    assert isinstance(value, float)
    assert (value >= 0) is left


def test_the_driver_for_a_toolkit() -> None:
    host, _ = derive({"software.cuda_toolkit_version": "12.4"}, [], AT)
    assert host.software.cuda_toolkit_driver_version in {"525", "525.60.13"}
    gone = Missing("not-installed", "no toolkit")
    host, _ = derive({"software.cuda_toolkit_version": gone}, [], AT)
    assert kind(host.software.cuda_toolkit_driver_version) == "not-supported"


def test_the_stand_in_board_is_not_lost() -> None:
    _, (board,) = derive({}, [{"vendor": "cpu", "model": "X", "memory.total_bytes": 2**34}], AT)
    assert board.lost is False
    assert board.spec.known is False


def test_nobody_misses_a_driver_where_the_bus_shows_no_board() -> None:
    gone = Missing("not-installed", "no library")
    host, _ = derive({"boards_on_bus_count": 0, "boards_in_driver_count": gone}, [], AT)
    assert kind(host.boards_in_driver_count) == "not-supported"
    host, _ = derive({"boards_on_bus_count": 1, "boards_in_driver_count": gone}, [], AT)
    assert kind(host.boards_in_driver_count) == "not-installed"


def test_video_bios_versions_are_compared_within_a_part_number() -> None:
    other = with_tags(H100, {"pci/pci_bus_id": "00000000:2A:00.0", "vbios_version": "96.00.30.00.01"})
    assert derived(H100)[0].vbios_version_count == 1
    assert derived(H100, other)[0].vbios_version_count == 2
    assert derived(H100, with_tags(other, {"board_part_number": "X"}))[0].vbios_version_count == 1
    assert kind(derive({}, [], AT)[0].vbios_version_count) == "not-supported"


def test_the_driver_for_pytorch() -> None:
    host, _ = derive({"software.torch_cuda_version": "13.0"}, [], AT)
    assert host.software.torch_driver_version == "580"
