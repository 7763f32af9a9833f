"""The files of stand-in machines are those that Linux would show."""

from __future__ import annotations

import os
import struct
from pathlib import Path

import pytest

from tests.standin.addresses import pci_address
from tests.standin.models import MODELS
from tests.standin.sysfs import Machine, display_only, integrated, machine, network

SYS = Path("sys/bus/pci/devices")


def text(root: Path, number: int, name: str) -> str:
    return (root / SYS / pci_address(number) / name).read_text().strip()


def links_below(root: Path) -> list[Path]:
    return [Path(folder) / name for folder, folders, files in os.walk(root) for name in (*folders, *files)
            if (Path(folder) / name).is_symlink()]  # fmt: skip


@pytest.mark.parametrize("vendor", sorted(MODELS))
@pytest.mark.parametrize("count", [0, 1, 8, 16])
def test_each_board_is_on_the_bus_behind_a_switch(vendor: str, count: int, tmp_path: Path) -> None:
    root = machine(vendor, count).write(tmp_path)
    model = MODELS[vendor]
    assert len(list((root / SYS).iterdir())) == 4 * count
    for number in range(count):
        folder = (root / SYS / pci_address(number)).resolve()
        kinds = [(above / "class").read_text().strip() for above in list(folder.parents)[:3]]
        assert kinds == ["0x060400"] * 3
        assert folder.parents[3].parent == root / "sys/devices"
        assert (text(root, number, "vendor"), text(root, number, "device")) == (
            f"0x{model.vendor}",
            f"0x{model.device}",
        )
        assert (folder / "driver").resolve().name == model.driver
        assert text(root, number, "numa_node") == ("0" if number < (count + 1) // 2 else "1")
        slot = root / f"sys/bus/pci/slots/{number + 1}/address"
        assert slot.read_text().strip() + ".0" == pci_address(number)


def test_all_links_are_relative_and_lead_somewhere(tmp_path: Path) -> None:
    whole = machine(count=3).vfio(1).virtual_functions(2, 9).with_device(network(), integrated(), display_only())
    root = whole.write(tmp_path / "deep" / "root")
    links = links_below(root)
    assert len(links) > 60
    assert [link for link in links if link.readlink().is_absolute() or not link.exists()] == []


def test_a_healthy_link_and_its_configuration_space_agree(tmp_path: Path) -> None:
    root = machine(count=1).write(tmp_path)
    names = ("current_link_speed", "current_link_width", "max_link_speed", "max_link_width")
    assert [text(root, 0, name) for name in names] == ["32.0 GT/s PCIe", "16", "32.0 GT/s PCIe", "16"]
    space = (root / SYS / pci_address(0) / "config").read_bytes()
    assert struct.unpack_from("<HH", space) == (0x10DE, 0x2330)
    assert struct.unpack_from("<I", space, 8)[0] >> 8 == 0x030200
    assert len(space) == 256
    capabilities = dict(_capabilities(space))
    express = capabilities[0x10]
    (most,) = struct.unpack_from("<I", space, express + 0x0C)
    (now,) = struct.unpack_from("<H", space, express + 0x12)
    assert (most & 0xF, most >> 4 & 0x3F, now & 0xF, now >> 4 & 0x3F) == (5, 16, 5, 16)


def _capabilities(space: bytes) -> list[tuple[int, int]]:
    found = []
    at = space[0x34]
    while at:
        found.append((space[at], at))
        at = space[at + 1]
    return found


def test_a_narrower_port_leaves_the_board_what_it_could_do(tmp_path: Path) -> None:
    root = machine(count=2).narrower_port(1, width=8, generation=4).write(tmp_path)
    assert text(root, 1, "current_link_width") == "8"
    assert text(root, 1, "current_link_speed") == "16.0 GT/s PCIe"
    assert text(root, 1, "max_link_width") == "16"
    port = (root / SYS / pci_address(1)).resolve().parent
    assert (port / "max_link_width").read_text() == "8\n"
    assert (port.parent / "max_link_width").read_text() == "16\n"
    assert text(root, 0, "current_link_width") == "16"


def test_a_dead_board_reads_as_all_ones(tmp_path: Path) -> None:
    root = machine(count=2).dead(1).write(tmp_path)
    assert (root / SYS / pci_address(1) / "config").read_bytes() == b"\xff" * 256
    assert text(root, 1, "current_link_speed") == "Unknown"
    assert text(root, 1, "current_link_width") == "63"
    assert text(root, 1, "vendor") == "0x10de"


def test_a_missing_board_leaves_its_port_and_slot(tmp_path: Path) -> None:
    root = machine(count=2).missing(1).write(tmp_path)
    assert not (root / SYS / pci_address(1)).exists()
    assert (root / SYS / "0000:29:00.0").exists()
    assert (root / "sys/bus/pci/slots/2/address").read_text() == "0000:2a:00\n"
    assert [path.name for path in (root / "proc/driver/nvidia/gpus").iterdir()] == [pci_address(0)]
    assert not (root / "dev/nvidia1").exists()


@pytest.mark.parametrize(
    ("whole", "driver", "node"),
    [
        (machine(count=1), "nvidia", True),
        (machine(count=1).vfio(0), "vfio-pci", False),
        (machine(count=1).unbound(0), None, False),
        (machine(count=1).driver(None), None, False),
        (machine(count=1).no_node(0), "nvidia", False),
    ],
)
def test_who_holds_a_board(whole: Machine, driver: str | None, node: bool, tmp_path: Path) -> None:
    root = whole.write(tmp_path)
    link = root / SYS / pci_address(0) / "driver"
    assert (link.resolve().name if link.is_symlink() else None) == driver
    assert (root / "dev/nvidia0").exists() == node
    assert (root / f"proc/driver/nvidia/gpus/{pci_address(0)}/information").exists() == (driver == "nvidia")


@pytest.mark.parametrize(("open_module", "words"), [(True, "Open Kernel Module"), (False, "UNIX x86_64 Kernel Module")])
def test_the_version_of_the_driver(open_module: bool, words: str, tmp_path: Path) -> None:
    root = machine(count=1).driver("570.86.10", open_module).write(tmp_path)
    version = (root / "proc/driver/nvidia/version").read_text()
    assert words in version
    assert "  570.86.10  " in version
    assert (root / "proc/modules").read_text().split()[0] == "nvidia_uvm"


def test_without_a_driver_nothing_of_it_is_there(tmp_path: Path) -> None:
    root = machine(count=1).driver(None).write(tmp_path)
    assert not (root / "proc/driver").exists()
    assert list((root / "dev").iterdir()) == []
    assert "nvidia" not in (root / "proc/modules").read_text()


def test_virtual_functions_and_their_board_name_each_other(tmp_path: Path) -> None:
    root = machine(count=1).virtual_functions(0, 9).write(tmp_path)
    board = root / SYS / pci_address(0)
    functions = [(board / f"virtfn{index}").resolve() for index in range(9)]
    assert [path.name for path in functions][:1] + [path.name for path in functions][-2:] == [
        "0000:18:00.1", "0000:18:01.0", "0000:18:01.1",
    ]  # fmt: skip
    assert {(path / "physfn").resolve() for path in functions} == {board.resolve()}
    assert (board / "sriov_numvfs").read_text() == "9\n"
    assert not (functions[0] / "sriov_numvfs").exists()
    assert not (board / "physfn").exists()


def test_parts_that_are_no_boards(tmp_path: Path) -> None:
    root = machine(count=0).with_device(display_only(), network(), integrated()).write(tmp_path)
    found = {path.name: ((path / "vendor").read_text().strip(), (path / "class").read_text().strip())
             for path in (root / SYS).iterdir()}  # fmt: skip
    assert found == {
        "0000:03:00.0": ("0x10de", "0x030000"),
        "0000:04:00.0": ("0x1a03", "0x030000"),
        "0000:05:00.0": ("0x19e5", "0x020000"),
    }
    assert not (root / SYS / "0000:04:00.0" / "current_link_width").exists()


def test_errors_of_the_bus_are_counted_by_kind(tmp_path: Path) -> None:
    root = machine(count=2).errors(1, BadTLP=3, Rollover=1, DLP=2, NonFatal_UnsupReq=4).write(tmp_path)
    kinds = ("correctable", "fatal", "nonfatal")
    last = [text(root, 1, f"aer_dev_{kind}").splitlines()[-1] for kind in kinds]
    assert last == ["TOTAL_ERR_COR 4", "TOTAL_ERR_FATAL 2", "TOTAL_ERR_NONFATAL 4"]
    assert "BadTLP 3" in text(root, 1, "aer_dev_correctable").splitlines()
    assert text(root, 0, "aer_dev_correctable").splitlines()[-1] == "TOTAL_ERR_COR 0"
    with pytest.raises(AssertionError, match="knows no errors"):
        machine(count=1).errors(0, Nonsense=1).write(tmp_path / "other")


def test_files_can_be_changed_and_taken_away(tmp_path: Path) -> None:
    whole = machine(count=1).board(0, files={"numa_node": "-1\n", "config": None, "sub/new": "1\n"})
    root = whole.with_files({"proc/modules": None, "proc/cmdline": "quiet\n"}).write(tmp_path)
    assert text(root, 0, "numa_node") == "-1"
    assert text(root, 0, "sub/new") == "1"
    assert not (root / SYS / pci_address(0) / "config").exists()
    assert not (root / "proc/modules").exists()
    assert (root / "proc/cmdline").read_text() == "quiet\n"


def test_what_other_vendors_leave(tmp_path: Path) -> None:
    cambricon = machine("cambricon", 2).driver("5.10.22").write(tmp_path / "cambricon")
    information = cambricon / f"proc/driver/cambricon/mlus/{pci_address(1)}/information"
    assert "Driver Version: v5.10.22" in information.read_text().splitlines()
    ascend = machine("ascend", 2).write(tmp_path / "ascend")
    assert sorted(path.name for path in (ascend / "dev").iterdir()) == [
        "davinci0", "davinci1", "davinci_manager", "devmm_svm", "hisi_hdc",
    ]  # fmt: skip
    assert (machine("amd", 1).write(tmp_path / "amd") / "dev/dri/renderD128").exists()
