"""Read the lines of probes/pci.py: which boards the PCI bus has, and their links.

>>> reading = read(b'''{"probe": "pci"}
... {"board": {"vendor": "nvidia", "pci_address": "0000:18:00.0", "on_bus": true}}
... {"end": "pci"}''')
>>> reading.boards[0]["on_bus"], reading.complete
(True, True)
"""

from __future__ import annotations

from boardops.readers.probe_lines import reading_of
from boardops.readers.reading import Reading

KIND = "pci-probe"
TITLE = "PCI bus"
PROBE = "pci"

FILLS: tuple[str, ...] = (
    "boards_on_bus_count",
    "nvidia_node_count",
    "software.nvidia_module_version",
    "software.nouveau_loaded",
)
"""Facts of the host that the probe gives, without their first word."""

BOARD_FILLS: tuple[str, ...] = (
    "vendor",
    "pci_address",
    "on_bus",
    "pci_device_id",
    "kernel_driver",
    "numa_node",
    "slot",
    "pcie.config_readable",
    "pcie.link_width_lanes",
    "pcie.link_width_max_lanes",
    "pcie.link_generation",
    "pcie.device_generation_max",
    "pcie.port_width_max_lanes",
    "pcie.port_generation_max",
    "pcie.port_address",
    "pcie.uplink_width_lanes",
    "pcie.uplink_width_max_lanes",
    "pcie.uplink_generation",
    "pcie.uplink_generation_max",
    "pcie.uplink_address",
    "pcie.aer_corrected_count",
    "pcie.aer_nonfatal_count",
    "pcie.aer_fatal_count",
)
"""Facts of a board that the probe gives, without their first word."""


def read(data: bytes) -> Reading:
    """The facts in the probe's output."""
    return reading_of(data, kind=KIND, title=TITLE, probe=PROBE)
