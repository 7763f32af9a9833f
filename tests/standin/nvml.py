"""A stand-in for the NVIDIA management library, for the real Python binding in a process of its own.

    library = Nvml(tmp_path, count=8).board(3, temperature=90).hang("nvmlDeviceGetTemperature", board=2)
    subprocess.run([...], env={**os.environ, **library.environment()})
    assert library.calls()["nvmlDeviceGetCount_v2"] == 1

Tests of probes use it. What the keys mean can be read in `nvml.c`: numbers have the unit of the real library
(milliwatts, bytes, megahertz, degrees Celsius), and a key that is missing is answered with "not supported".
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import ClassVar

from tests.standin import library
from tests.standin.addresses import pci_address
from tests.standin.behaviour import EVERY_BOARD, NO_BOARD, Behaviour, Refused, Value

UNSUPPORTED = Refused(3)
MIB = 1 << 20
HANDLE_FUNCTIONS = "nvmlDeviceGetHandleBy*"

HOST: Mapping[str, Value] = {"driver_version": "580.95.05", "nvml_version": "13.580.95.05", "cuda_version": 13000}
"""What is answered about the host."""

H100: Mapping[str, Value] = {
    "name": "NVIDIA H100 80GB HBM3",
    "part_number": "692-2G520-0200-000",
    "vbios_version": "96.00.89.00.01",
    "inforom_version": "G520.0200.00.05",
    "inforom_valid": 1,
    "gsp_version": "580.95.05",
    "gsp_mode": 1,
    "gsp_mode_default": 1,
    "pci_device": 0x233010DE,
    "pci_subsystem": 0x16C110DE,
    "architecture": 9,
    "brand": 14,
    "compute_capability_major": 9,
    "compute_capability_minor": 0,
    "core_count": 16896,
    "memory_bus_width": 5120,
    "memory_total": 81559 * MIB,
    "memory_reserved": 480 * MIB,
    "memory_used": 0,
    "bar1_total": 131072 * MIB,
    "bar1_used": 1 * MIB,
    "utilization_gpu": 0,
    "utilization_memory": 0,
    "temperature": 34,
    "temperature_memory": 41,
    "temperature_margin": 53,
    "temperature_threshold_shutdown": 95,
    "temperature_threshold_slowdown": 89,
    "temperature_threshold_memory_max": 95,
    "temperature_threshold_gpu_max": 87,
    "tlimit_shutdown": -8,
    "tlimit_slowdown": -2,
    "tlimit_memory_max": 0,
    "tlimit_gpu_max": 0,
    "power_usage": 71_200,
    "power_instant": 70_930,
    "power_limit": 700_000,
    "power_limit_enforced": 700_000,
    "power_limit_default": 700_000,
    "power_limit_min": 200_000,
    "power_limit_max": 700_000,
    "energy": 123_456_789,
    "pcie_generation": 5,
    "pcie_generation_max": 5,
    "pcie_generation_max_board": 5,
    "pcie_width": 16,
    "pcie_width_max": 16,
    "pcie_speed": 32_000,
    "pcie_replay_counter": 0,
    "pcie_replay_rollover_counter": 0,
    "pcie_recovery_counter": 0,
    "pcie_correctable_errors": 0,
    "pcie_nonfatal_errors": 0,
    "pcie_fatal_errors": 0,
    "clock_graphics": 345,
    "clock_sm": 345,
    "clock_memory": 2619,
    "clock_video": 765,
    "clock_max_graphics": 1980,
    "clock_max_sm": 1980,
    "clock_max_memory": 2619,
    "clock_max_video": 1545,
    "clocks_event_reasons": 0x1,
    "clocks_event_reasons_supported": 0x1FF,
    "performance_state": 0,
    "compute_mode": 0,
    "persistence_mode": 1,
    "display_mode": 0,
    "display_active": 0,
    "ecc_mode": 1,
    "ecc_mode_pending": 1,
    "ecc_corrected_volatile_dram": 0,
    "ecc_corrected_volatile_sram": 0,
    "ecc_corrected_aggregate_dram": 0,
    "ecc_corrected_aggregate_sram": 0,
    "ecc_uncorrected_volatile_dram": 0,
    "ecc_uncorrected_volatile_sram": 0,
    "ecc_uncorrected_aggregate_dram": 0,
    "ecc_uncorrected_aggregate_sram": 0,
    "sram_parity_volatile": 0,
    "sram_parity_aggregate": 0,
    "sram_threshold_exceeded": 0,
    "rows_corrected": 0,
    "rows_uncorrected": 0,
    "rows_pending": 0,
    "rows_failed": 0,
    "repair_channel_pending": 0,
    "repair_tpc_pending": 0,
    "unrepairable_memory": 0,
    "rows_banks_max": 2560,
    "rows_banks_high": 0,
    "rows_banks_partial": 0,
    "rows_banks_low": 0,
    "rows_banks_none": 0,
    "mig_mode": 0,
    "mig_mode_pending": 0,
    "mig_device_count_max": 7,
    "is_mig_device": 0,
    "virtualization_mode": 0,
    "fan_count": 0,
    "fabric_version_max": 3,
    "fabric_state": 3,
    "fabric_status": 0,
    "fabric_clique": 0,
    # Two bits each: bandwidth, route recovery, route, access timeout; then the configuration. All are well.
    "fabric_health_mask": 0b1_10_10_10_10,
    "fabric_health_summary": 1,
    "nvlink_count": 18,
    "nvlink_switch_count": 18,
    "nvlink_state": 1,
    "nvlink_version": 6,
    "nvlink_speed": 26_562,
    "nvlink_remote_type": 2,
    "nvlink_remote_address": "00000000:07:00.0",
    "nvlink_replay": 0,
    "nvlink_recovery": 0,
    "nvlink_crc_flit": 0,
    "nvlink_crc_data": 0,
    "nvlink_replay_total": 0,
    "nvlink_recovery_total": 0,
    "nvlink_crc_flit_total": 0,
    "nvlink_crc_data_total": 0,
    "recovery_action": 0,
}
"""A healthy idle H100. Fans and retired pages are missing: it has neither."""


def _without(keys: Mapping[str, Value], *beginnings: str) -> dict[str, Value]:
    return {key: value for key, value in keys.items() if not key.startswith(beginnings)}


V100: Mapping[str, Value] = {
    **_without(
        H100,
        "rows_",
        "repair_",
        "unrepairable_",
        "fabric_",
        "nvlink_",
        "mig_",
        "tlimit_",
        "gsp_",
        "sram_",
        "temperature_margin",
    ),
    "name": "Tesla V100-PCIE-32GB",
    "part_number": "900-2G500-0010-000",
    "vbios_version": "88.00.48.00.02",
    "inforom_version": "G500.0202.00.02",
    "pci_device": 0x1DB610DE,
    "pci_subsystem": 0x124A10DE,
    "architecture": 5,
    "brand": 2,
    "compute_capability_major": 7,
    "memory_total": 32768 * MIB,
    "memory_reserved": 258 * MIB,
    "power_usage": 26_400,
    "power_limit": 250_000,
    "power_limit_enforced": 250_000,
    "power_limit_default": 250_000,
    "power_limit_min": 100_000,
    "power_limit_max": 250_000,
    "pcie_generation": 3,
    "pcie_generation_max": 3,
    "pcie_generation_max_board": 3,
    "clock_max_sm": 1380,
    "clock_max_graphics": 1380,
    "retired_single_bit": 0,
    "retired_double_bit": 0,
    "retired_pending": 0,
}
"""A healthy idle V100: it retires pages and has no row remapper, no NVLink, no limits relative to the temperature."""

RTX_4090: Mapping[str, Value] = {
    **_without(
        H100,
        "repair_",
        "unrepairable_",
        "fabric_",
        "nvlink_",
        "mig_",
        "ecc_",
        "sram_",
        "part_number",
        "temperature_memory",
    ),
    "ecc_mode": 0,
    "ecc_mode_pending": 0,
    "name": "NVIDIA GeForce RTX 4090",
    "vbios_version": "95.02.18.80.5F",
    "inforom_version": "G002.0000.00.03",
    "pci_device": 0x268410DE,
    "pci_subsystem": 0x16F410DE,
    "architecture": 8,
    "brand": 5,
    "compute_capability_major": 8,
    "compute_capability_minor": 9,
    "serial": UNSUPPORTED,
    "memory_total": 24564 * MIB,
    "memory_reserved": 354 * MIB,
    "power_limit": 450_000,
    "power_limit_enforced": 450_000,
    "power_limit_default": 450_000,
    "power_limit_min": 150_000,
    "power_limit_max": 600_000,
    "performance_state": 8,
    "pcie_generation": 1,
    "pcie_generation_max": 4,
    "pcie_generation_max_board": 4,
    "clock_max_sm": 3105,
    "clock_max_graphics": 3105,
    "fan_count": 2,
    "fan_speed": 30,
}
"""A healthy idle RTX 4090: fans, ECC off, no serial, an idle link of the first generation."""


@dataclass(frozen=True)
class Nvml(Behaviour):
    """The library on a host with `count` boards of one model (1 to 64)."""

    name: ClassVar[str] = "STANDIN_NVML"

    count: int = 8
    model: Mapping[str, Value] = field(default_factory=lambda: H100)
    absent: frozenset[str] = frozenset()

    def board(self, number: int | None, **values: Value) -> Nvml:
        """Other values of one board, or of all."""
        where = EVERY_BOARD if number is None else str(number)
        return self.with_lines(*(f"value {where} {key} {value}" for key, value in values.items()))

    def host(self, **values: Value) -> Nvml:
        """Other values of the host: `driver_version`, `nvml_version`, `cuda_version`."""
        return self.with_lines(*(f"value {NO_BOARD} {key} {value}" for key, value in values.items()))

    def process(self, board: int, pid: int, used_bytes: int, name: str, kind: str = "C") -> Nvml:
        """A process on a board: `C` computes, `G` draws, `M` computes through a server that shares the board."""
        assert kind in ("C", "G", "M"), kind
        return self.with_lines(f"process {board} {kind} {pid} {used_bytes} {name}")

    def lost(self, board: int, after_calls: int = 0) -> Nvml:
        """The board has fallen off the bus, or does so after some calls that concern it."""
        return self.with_lines(f"lost {board} * {after_calls}")

    def handle_error(self, board: int, code: int) -> Nvml:
        """There is no handle of a board, however one asks for it."""
        return self.error(HANDLE_FUNCTIONS, code, board)

    def delay_init_per_board(self, seconds: float) -> Nvml:
        """The start of the library takes longer the more boards there are."""
        return self.delay("nvmlInit*", seconds * self.count)

    def renumber(self) -> Nvml:
        """From the second start on, in whichever process, the boards are numbered in reverse."""
        return self.with_lines("renumber")

    def missing(self, *functions: str) -> Nvml:
        """The library does not have these functions, as an older driver."""
        return replace(self, absent=self.absent | set(functions))

    def environment(self, base: Mapping[str, str] = os.environ) -> dict[str, str]:
        """The variables by which a process finds this library. Writes the behaviour, and compiles where needed."""
        built = library.compiled("nvml.c", "libnvidia-ml.so.1", library.nvml_header(), self.absent)
        lines = [f"count {self.count}"]
        lines += [f"value {NO_BOARD} {key} {value}" for key, value in HOST.items()]
        for number in range(self.count):
            lines += [f"value {number} {key} {value}" for key, value in identity(number).items()]
        lines += [f"value {EVERY_BOARD} {key} {value}" for key, value in self.model.items()]
        return {**self._written(built, lines, base), f"{self.name}_STARTED": str(self._file("started"))}


def identity(number: int) -> dict[str, Value]:
    """What tells one board of a host from the others."""
    return {
        "pci_address": f"0000{pci_address(number)}".upper(),
        "uuid": f"GPU-00000000-1111-2222-3333-{number + 1:012d}",
        "serial": f"{number + 1:013d}",
        "minor_number": number,
        "module_id": number + 1,
    }
