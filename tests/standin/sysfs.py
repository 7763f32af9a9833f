"""Build the files of a machine with boards below a folder: /sys/bus/pci, /sys/devices, /proc and /dev.

    root = machine("nvidia", count=8).narrower_port(3, width=8).dead(5).write(tmp_path)

Tests of probes use it. Device nodes are plain files, since only root makes real ones. What a vendor's driver leaves
on a machine is in `models`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from tests.standin import models
from tests.standin.addresses import pci_address
from tests.standin.models import MODELS, Model
from tests.standin.pci_device import Device, Link, sysfs_files

BRIDGE = "060400"


@dataclass(frozen=True)
class Machine:
    """A machine with boards of one model. Each method gives a changed copy; boards are numbered from 0."""

    model: Model
    boards: Mapping[int, Device]
    ports: tuple[Device, ...]
    """Root ports and switches, parents before children."""
    others: tuple[Device, ...] = ()
    slots: Mapping[str, str] = field(default_factory=dict)
    without_node: frozenset[int] = frozenset()
    driver_version: str | None = "580.95.05"
    open_module: bool = True
    files: Mapping[str, str | None] = field(default_factory=dict)
    """Other files by their path from the root, or None for one that is missing."""

    def board(self, number: int, **changes: Any) -> Machine:
        """Other values of one board's `Device`."""
        return replace(self, boards={**self.boards, number: replace(self.boards[number], **changes)})

    def missing(self, number: int) -> Machine:
        """The board is not on the bus; its port and its slot are still there."""
        return replace(self, boards={key: device for key, device in self.boards.items() if key != number})

    def dead(self, number: int) -> Machine:
        """The board is on the bus and reads as all ones."""
        return self.board(number, dead=True)

    def vfio(self, number: int) -> Machine:
        """The board is kept for a virtual machine."""
        return self.board(number, driver="vfio-pci").no_node(number)

    def unbound(self, number: int) -> Machine:
        """No driver holds the board."""
        return self.board(number, driver=None).no_node(number)

    def no_node(self, number: int) -> Machine:
        """The board has no device node, as in a container that was not given it."""
        return replace(self, without_node=self.without_node | {number})

    def narrower_port(self, number: int, width: int, generation: int | None = None) -> Machine:
        """The port above a board has fewer lanes, or is of an older generation, than the board."""
        device = self.boards[number]
        assert device.link is not None
        slower = generation or device.link.generation_max
        port = Link(slower, width, slower, width)
        ports = tuple(replace(one, link=port) if one.address == device.parent else one for one in self.ports)
        own = replace(device.link, generation=slower, width=width)
        return replace(self, ports=ports).board(number, link=own)

    def errors(self, number: int, **counts: int) -> Machine:
        """Errors of a board by the kernel's names, such as `BadTLP`; before `NonFatal_` stands for `NonFatal:`."""
        named = {name.replace("NonFatal_", "NonFatal:"): count for name, count in counts.items()}
        return self.board(number, errors=named)

    def virtual_functions(self, number: int, count: int, driver: str | None = "vfio-pci") -> Machine:
        """The board is divided into virtual functions."""
        of = self.boards[number]
        made = tuple(
            replace(
                of,
                address=f"{of.address[:-4]}{(index + 1) // 8:02x}.{(index + 1) % 8}",
                driver=driver,
                physical=of.address,
                files={},
            )
            for index in range(count)
        )
        whole = self.board(number, files={"sriov_numvfs": f"{count}\n", "sriov_totalvfs": "16\n", **of.files})
        return replace(whole, others=(*self.others, *made))

    def driver(self, version: str | None, open_module: bool = True) -> Machine:
        """Another version of the vendor's driver, or none: then it is not loaded and no board is bound to it."""
        machine = replace(self, driver_version=version, open_module=open_module)
        for number in self.boards if version is None else ():
            machine = machine.unbound(number)
        return machine

    def with_device(self, *devices: Device) -> Machine:
        """The same with further devices: `display_only()`, `network()`, `integrated()` or others."""
        return replace(self, others=(*self.others, *devices))

    def with_files(self, files: Mapping[str, str | None]) -> Machine:
        """The same with other files; None takes one away."""
        return replace(self, files={**self.files, **files})

    def write(self, root: Path) -> Path:
        """Write the machine below `root`, which is given back."""
        for folder in ("sys/bus/pci/devices", "sys/bus/pci/drivers", "sys/bus/pci/slots", "sys/devices", "proc", "dev"):
            (root / folder).mkdir(parents=True, exist_ok=True)
        devices = (*self.ports, *self.boards.values(), *self.others)
        folders: dict[str, Path] = {}
        for device in devices:
            folders[device.address] = folders.get(device.parent, root / "sys/devices" / device.parent) / device.address
            _write_device(root, folders[device.address], device)
        for device in devices:
            _link_to_whole(folders, device)
        for name, address in self.slots.items():
            _write(root / "sys/bus/pci/slots" / name / "address", f"{address}\n")
        for path, text in {**self._nodes(), **self._driver_files(), **self.files}.items():
            if text is not None:
                _write(root / path, text)
        return root

    def _nodes(self) -> dict[str, str]:
        nodes = [node for node in self.model.shared_nodes if self.driver_version]
        for number in self.boards:
            if number not in self.without_node:
                nodes += [node.format(n=number, render=128 + number) for node in self.model.nodes]
        return {f"dev/{node}": "" for node in nodes}

    def _driver_files(self) -> dict[str, str]:
        if self.driver_version is None:
            return {"proc/modules": models.loaded(())}
        bound = {number: device for number, device in self.boards.items() if device.driver == self.model.driver}
        return models.driver_files(self.model, bound, self.driver_version, self.open_module)


def machine(vendor: str | Model = "nvidia", count: int = 8) -> Machine:
    """A healthy machine: each board below a port of a switch of its own, half of the boards on each processor."""
    model = MODELS[vendor] if isinstance(vendor, str) else vendor
    boards: dict[int, Device] = {}
    ports: list[Device] = []
    for number in range(count):
        above = _ports(pci_address(number), model, node := 0 if number < (count + 1) // 2 else 1)
        ports += above
        boards[number] = Device(
            *(pci_address(number), above[-1].address, model.vendor, model.device, model.class_code, model.subsystem),
            link=Link(model.generation, model.width, model.generation, model.width),
            driver=model.driver,
            numa_node=node,
        )
    slots = {str(number + 1): pci_address(number).partition(".")[0] for number in range(count)}
    return Machine(model, boards, tuple(ports), slots=slots)


def _ports(address: str, model: Model, node: int) -> list[Device]:
    """Root port, then a switch: its port towards the processor and its port towards the board, one bus each."""
    domain, bus = address[:4], int(address[5:7], 16)
    link = Link(model.generation, 16, model.generation, 16)
    places = [f"{domain}:{bus - 3:02x}:01.0", f"{domain}:{bus - 2:02x}:00.0", f"{domain}:{bus - 1:02x}:00.0"]
    parents = [f"pci{domain}:{bus - 3:02x}", *places[:2]]
    kinds = [("8086", "352a", "root-port"), ("1000", "c030", "upstream"), ("1000", "c030", "downstream")]
    return [
        Device(place, parent, vendor, device, BRIDGE, kind=kind, link=link, driver="pcieport", numa_node=node)
        for place, parent, (vendor, device, kind) in zip(places, parents, kinds, strict=True)
    ]


def display_only(address: str = "0000:03:00.0") -> Device:
    """A graphics part of NVIDIA that cannot compute: class of a display, an old id."""
    link = Link(1, 8, 2, 16)
    return Device(address, "pci0000:00", "10de", "104a", "030000", "10de:0000", link=link, driver="nouveau")


def network(address: str = "0000:05:00.0", vendor: str = "19e5", device: str = "0222") -> Device:
    """A network card, of a vendor that makes boards too."""
    return Device(
        address, "pci0000:00", vendor, device, "020000", f"{vendor}:0051", link=Link(3, 16, 3, 16), driver="hinic"
    )


def integrated(address: str = "0000:04:00.0", vendor: str = "1a03", device: str = "2000") -> Device:
    """The graphics of the management controller, or of a processor: it has no link of PCI Express."""
    return Device(
        address, "pci0000:00", vendor, device, "030000", f"{vendor}:{device}", kind="integrated", driver="ast"
    )


def _write(path: Path, content: str | bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())


def _point(link: Path, target: Path) -> None:
    """A relative symbolic link, as sysfs has them."""
    up = len(link.parent.parts)
    common = next(n for n in range(up, -1, -1) if target.parts[:n] == link.parent.parts[:n])
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(Path(*[".."] * (up - common), *target.parts[common:]))


def _write_device(root: Path, folder: Path, device: Device) -> None:
    bus = root / "sys/bus/pci"
    for name, content in sysfs_files(device).items():
        _write(folder / name, content)
    _point(bus / "devices" / device.address, folder)
    _point(folder / "subsystem", bus)
    if device.driver:
        (bus / "drivers" / device.driver).mkdir(exist_ok=True)
        _point(folder / "driver", bus / "drivers" / device.driver)
        _point(bus / "drivers" / device.driver / device.address, folder)
    if device.driver == "vfio-pci":
        group = root / "sys/kernel/iommu_groups" / str(int(device.address[5:7], 16))
        group.mkdir(parents=True, exist_ok=True)
        _point(folder / "iommu_group", group)
        _write(root / "dev/vfio" / group.name, "")


def _link_to_whole(folders: Mapping[str, Path], device: Device) -> None:
    if device.physical is None:
        return
    whole = folders[device.physical]
    _point(folders[device.address] / "physfn", whole)
    _point(whole / f"virtfn{len(list(whole.glob('virtfn*')))}", folders[device.address])
