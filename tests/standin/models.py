"""What the boards of each vendor and their driver leave on a stand-in machine: ids, device nodes, files below /proc.

`sysfs` builds machines from it. Composed by hand; serials and identifiers are made up.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tests.standin.pci_device import Device


@dataclass(frozen=True)
class Model:
    """What the boards of one vendor leave on a machine. `{n}` in a device node is the board's number."""

    vendor: str
    device: str
    class_code: str
    subsystem: str
    driver: str
    generation: int
    nodes: tuple[str, ...] = ()
    shared_nodes: tuple[str, ...] = ()
    modules: tuple[str, ...] = ()
    width: int = 16


MODELS: Mapping[str, Model] = {
    "nvidia": Model(
        *("10de", "2330", "030200", "10de:16c1", "nvidia", 5),
        nodes=("nvidia{n}",),
        shared_nodes=("nvidiactl", "nvidia-uvm", "nvidia-caps/nvidia-cap1"),
        modules=("nvidia_uvm", "nvidia_modeset", "nvidia"),
    ),
    "ascend": Model(
        *("19e5", "d802", "120000", "19e5:3400", "devdrv_device_driver", 4),
        nodes=("davinci{n}",),
        shared_nodes=("davinci_manager", "devmm_svm", "hisi_hdc"),
        modules=("drv_davinci_intf", "drv_devmm_host", "drv_pcie_host"),
    ),
    "cambricon": Model(
        *("cabc", "0370", "120000", "cabc:0051", "cambricon", 4),
        nodes=("cambricon_dev{n}",),
        shared_nodes=("cambricon_ctl",),
        modules=("cambricon_drv",),
    ),
    "amd": Model(
        *("1002", "74a1", "120000", "1002:74a1", "amdgpu", 5),
        nodes=("dri/renderD{render}",),
        shared_nodes=("kfd",),
        modules=("amdgpu",),
    ),
}


def driver_files(model: Model, boards: Mapping[int, Device], version: str, open_module: bool) -> dict[str, str]:
    """The files below /proc and /sys/module that a loaded driver shows for the boards that it holds, by path."""
    files = {"proc/modules": loaded(model.modules)}
    if model.vendor == "10de":
        files["proc/driver/nvidia/version"] = _nvidia_version(version, open_module)
        files["sys/module/nvidia/version"] = f"{version}\n"
    for number, device in boards.items():
        if model.vendor == "10de":
            files[f"proc/driver/nvidia/gpus/{device.address}/information"] = _nvidia_board(number, device, version)
        if model.vendor == "cabc":
            files[f"proc/driver/cambricon/mlus/{device.address}/information"] = _cambricon_board(
                number, device, version
            )
    return files


def loaded(names: tuple[str, ...]) -> str:
    """What /proc/modules shows with these modules beside two that have nothing to do with boards."""
    return "".join(f"{name} 16384 1 - Live 0x0000000000000000 (OE)\n" for name in (*names, "mlx5_core", "xfs"))


def _nvidia_version(version: str, open_module: bool) -> str:
    kind = "NVIDIA UNIX Open Kernel Module for x86_64" if open_module else "NVIDIA UNIX x86_64 Kernel Module"
    return (
        f"NVRM version: {kind}  {version}  Release Build  (builder@builder)  Tue Dec  1 08:00:00 UTC 2026\n"
        "GCC version:  gcc version 12.3.0 (Ubuntu 12.3.0-1ubuntu1~22.04)\n"
    )


def _nvidia_board(number: int, device: Device, version: str) -> str:
    rows = {
        "Model: \t\t": "NVIDIA H100 80GB HBM3",
        "IRQ:   \t\t": "18",
        "GPU UUID: \t": f"GPU-00000000-1111-2222-3333-{number + 1:012d}",
        "Video BIOS: \t": "96.00.89.00.01",
        "Bus Type: \t": "PCIe",
        "DMA Size: \t": "52 bits",
        "DMA Mask: \t": "0xfffffffffffff",
        "Bus Location: \t": device.address,
        "Device Minor: \t": str(number),
        "GPU Firmware: \t": version,
        "GPU Excluded:\t": "No",
    }
    return "".join(f"{name} {value}\n" for name, value in rows.items())


def _cambricon_board(number: int, device: Device, version: str) -> str:
    rows = {
        "Device name": "MLU370-X8",
        "Device inode path": f"/dev/cambricon_dev{number}",
        "Device Major": "236",
        "Device Minor": str(number),
        "Driver Version": f"v{version}",
        "MCU Version": "v1.1.4",
        "Board Serial Number": f"SN/{number + 1:012d}",
        "MLU Firmware Version": "1.1.4",
        "Board CV": "0",
        "Bus Location": f"{device.address[5:7]}_0_0",
    }
    return "".join(f"{name}: {value}\n" for name, value in rows.items())
