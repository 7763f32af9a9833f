"""Read the lines of probes/nvml.py: the facts of NVIDIA boards from the driver's library.

>>> reading = read(b'''{"probe": "nvml"}
... {"host": {"boards_in_driver_count": 1}}
... {"board": {"vendor": "nvidia", "pci_address": "0000:18:00.0", "index": 0, "model": "NVIDIA X"}}
... {"board": {"vendor": "nvidia", "pci_address": "0000:18:00.0", "index": 0, "lost": false}}
... {"end": "nvml"}''')
>>> len(reading.boards), reading.boards[0]["model"], reading.boards[0]["lost"]
(1, 'NVIDIA X', False)
"""

from __future__ import annotations

from boardops.readers.probe_lines import reading_of
from boardops.readers.reading import Reading

KIND = "nvml-probe"
TITLE = "NVML"
PROBE = "nvml"

FILLS: tuple[str, ...] = (
    "software.nvidia_driver_version",
    "software.cuda_driver_version",
    "boards_in_driver_count",
    "boards_listed_count",
)
"""Facts of the host that the probe gives, without their first word."""

BOARD_FILLS: tuple[str, ...] = (
    "vendor",
    "pci_address",
    "index",
    "driver_version",
    "model",
    "uuid",
    "serial",
    "pci_device_id",
    "part_number",
    "architecture",
    "firmware_version",
    "vbios_version",
    "inforom_version",
    "inforom_valid",
    "performance_state",
    "recovery_action",
    "virtualization",
    "mig_enabled",
    "mig_pending",
    "persistence_mode",
    "compute_mode",
    "fabric_state",
    "fabric_status",
    "fabric_health",
    "fan_ratio",
    "memory.total_bytes",
    "memory.used_bytes",
    "memory.free_bytes",
    "memory.reserved_bytes",
    "utilization.compute_ratio",
    "utilization.memory_ratio",
    "temperature.core_celsius",
    "temperature.memory_celsius",
    "temperature.slowdown_celsius",
    "temperature.shutdown_celsius",
    "temperature.memory_max_celsius",
    "temperature.margin_celsius",
    "temperature.slowdown_margin_celsius",
    "power.draw_watts",
    "power.limit_watts",
    "power.default_limit_watts",
    "power.max_limit_watts",
    "pcie.link_width_lanes",
    "pcie.link_width_max_lanes",
    "pcie.link_generation",
    "pcie.link_generation_max",
    "pcie.device_generation_max",
    "pcie.replay_count",
    "link.active_count",
    "link.inactive",
    "link.error_count",
    "link.with_errors",
    "ecc.enabled",
    "ecc.pending",
    "ecc.corrected_volatile_count",
    "ecc.uncorrected_volatile_count",
    "ecc.corrected_aggregate_count",
    "ecc.uncorrected_aggregate_count",
    "ecc.sram_uncorrected_aggregate_count",
    "ecc.sram_threshold_exceeded",
    "ecc.repair_pending",
    "ecc.unrepairable",
    "rows.remapped_corrected_count",
    "rows.remapped_uncorrected_count",
    "rows.pending",
    "rows.failed",
    "rows.exhausted_bank_count",
    "pages.retired_single_count",
    "pages.retired_double_count",
    "pages.pending",
    "clock.core_hertz",
    "clock.core_max_hertz",
    "clock.memory_hertz",
    "clock.throttle_reasons",
    "processes",
    "lost",
)
"""Facts of a board that the probe gives, without their first word."""


def read(data: bytes) -> Reading:
    """The facts in the probe's output."""
    return reading_of(data, kind=KIND, title=TITLE, probe=PROBE)
