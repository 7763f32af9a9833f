"""One PCI device of a stand-in machine, and the files that Linux shows of it below /sys.

`sysfs` puts them together to a machine. Composed after the kernel's ABI documentation and its drivers/pci/pci-sysfs.c.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tests.standin import pci_config

SPEEDS = {1: "2.5", 2: "5.0", 3: "8.0", 4: "16.0", 5: "32.0", 6: "64.0"}
CORRECTABLE = ("RxErr", "BadTLP", "BadDLLP", "Rollover", "Timeout", "NonFatalErr", "CorrIntErr", "HeaderOF")
UNCORRECTABLE = (
    *("Undefined", "DLP", "SDES", "TLP", "FCP", "CmpltTO", "CmpltAbrt", "UnxCmplt", "RxOF", "MalfTLP", "ECRC"),
    *("UnsupReq", "ACSViol", "UncorrIntErr", "BlockedTLP", "AtomicOpBlocked", "TLPBlockedErr", "PoisonTLPBlocked"),
)


@dataclass(frozen=True)
class Link:
    """A PCI Express link as one of its ends sees it."""

    generation: int
    width: int
    generation_max: int
    width_max: int


@dataclass(frozen=True)
class Device:
    """A PCI device. Ids are hexadecimal without `0x`; `parent` is an address or, for a root port, `pci0000:15`."""

    address: str
    parent: str
    vendor: str
    device: str
    class_code: str
    subsystem: str = "0000:0000"
    kind: str = "endpoint"
    link: Link | None = None
    driver: str | None = None
    numa_node: int = 0
    dead: bool = False
    errors: Mapping[str, int] = field(default_factory=dict)
    """Errors by the kernel's names; `NonFatal:` before a name puts it among the uncorrected that are not fatal."""
    physical: str | None = None
    files: Mapping[str, str | None] = field(default_factory=dict)
    """Files with another content, or missing where it is None."""


def sysfs_files(device: Device) -> dict[str, str | bytes]:
    """The files in the folder of a device, without the symbolic links."""
    subsystem_vendor, _, subsystem_device = device.subsystem.partition(":")
    files: dict[str, str | bytes] = {
        "vendor": f"0x{device.vendor}\n",
        "device": f"0x{device.device}\n",
        "class": f"0x{device.class_code}\n",
        "revision": "0xa1\n",
        "subsystem_vendor": f"0x{subsystem_vendor}\n",
        "subsystem_device": f"0x{subsystem_device}\n",
        "numa_node": f"{device.numa_node}\n",
        "local_cpulist": "0-31\n" if device.numa_node <= 0 else "32-63\n",
        "enable": "1\n" if device.driver else "0\n",
        "irq": "18\n",
        "power_state": "unknown\n" if device.dead else "D0\n",
        "power/control": "on\n",
        "power/runtime_status": "active\n",
        "config": _config(device),
        "uevent": _uevent(device),
    }
    if device.kind == "endpoint":
        files["reset_method"] = "flr bus\n"
    if device.link:
        files |= _link_files(device.link, device.dead) | _error_files(device.errors)
    changed = {name: text for name, text in device.files.items() if text is not None}
    return {name: text for name, text in {**files, **changed}.items() if device.files.get(name, text) is not None}


def _config(device: Device) -> bytes:
    if device.dead:
        return pci_config.DEAD
    link = device.link
    ends = (link.generation, link.width, link.generation_max, link.width_max) if link else None
    subsystem_vendor, _, subsystem_device = device.subsystem.partition(":")
    return pci_config.config(
        (int(device.vendor, 16), int(device.device, 16)),
        int(device.class_code, 16),
        (int(subsystem_vendor, 16), int(subsystem_device, 16)),
        device.kind,
        ends,
    )


def _uevent(device: Device) -> str:
    lines = [f"DRIVER={device.driver}"] if device.driver else []
    lines += [f"PCI_CLASS={device.class_code.upper().lstrip('0')}", f"PCI_ID={device.vendor}:{device.device}".upper()]
    lines += [f"PCI_SUBSYS_ID={device.subsystem.upper()}", f"PCI_SLOT_NAME={device.address}"]
    return "".join(f"{line}\n" for line in lines)


def _link_files(link: Link, dead: bool) -> dict[str, str]:
    """The kernel reads these from the device: of one that is dead, all bits are set."""
    if dead:
        now, most = ("Unknown", 63), ("64.0 GT/s PCIe", 63)
    else:
        now = (f"{SPEEDS[link.generation]} GT/s PCIe", link.width)
        most = (f"{SPEEDS[link.generation_max]} GT/s PCIe", link.width_max)
    return {
        "current_link_speed": f"{now[0]}\n",
        "current_link_width": f"{now[1]}\n",
        "max_link_speed": f"{most[0]}\n",
        "max_link_width": f"{most[1]}\n",
    }


def _error_files(errors: Mapping[str, int]) -> dict[str, str]:
    nonfatal = {f"NonFatal:{name}": name for name in UNCORRECTABLE}
    unknown = set(errors) - set(CORRECTABLE) - set(UNCORRECTABLE) - set(nonfatal)
    assert not unknown, f"the kernel knows no errors {sorted(unknown)}"
    return {
        "aer_dev_correctable": _counts({name: name for name in CORRECTABLE}, errors, "TOTAL_ERR_COR"),
        "aer_dev_fatal": _counts({name: name for name in UNCORRECTABLE}, errors, "TOTAL_ERR_FATAL"),
        "aer_dev_nonfatal": _counts(nonfatal, errors, "TOTAL_ERR_NONFATAL"),
    }


def _counts(names: Mapping[str, str], errors: Mapping[str, int], total: str) -> str:
    counts = {printed: errors.get(key, 0) for key, printed in names.items()}
    return "".join(f"{name} {count}\n" for name, count in {**counts, total: sum(counts.values())}.items())
