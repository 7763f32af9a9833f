"""Compose `nvidia-smi -q` as plain text from the same boards as the XML of tests/smi_xml.py.

What a tag is called in the text is told here by hand after real output of drivers 460 to 610, apart from what the
reader believes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tests.smi_xml import Tags, apart

# Parts of tag paths in the text's words, most special first; `{group}` stands before what it holds.
WORDS: Mapping[str, str] = {
    "uuid": "GPU UUID",
    "serial": "Serial Number",
    "gsp_firmware_version": "GSP Firmware Version",
    "vbios_version": "VBIOS Version",
    "mig_mode/current_mig": "MIG Mode/Current",
    "mig_mode/pending_mig": "MIG Mode/Pending",
    "gpu_virtualization_mode/virtualization_mode": "GPU Virtualization Mode/Virtualization Mode",
    "gpu_recovery_action": "GPU Recovery Action",
    "pci/pci_device_id": "PCI/Device Id",
    "pci/pci_bus_id": "PCI/Bus Id",
    "pci/pci_gpu_link_info/pcie_gen/max_link_gen": "PCI/GPU Link Info/PCIe Generation/Max",
    "pci/pci_gpu_link_info/pcie_gen/current_link_gen": "PCI/GPU Link Info/PCIe Generation/Current",
    "pci/pci_gpu_link_info/pcie_gen/max_device_link_gen": "PCI/GPU Link Info/PCIe Generation/Device Max",
    "pci/pci_gpu_link_info/pcie_gen/max_host_link_gen": "PCI/GPU Link Info/PCIe Generation/Host Max",
    "pci/pci_gpu_link_info/link_widths/max_link_width": "PCI/GPU Link Info/Link Width/Max",
    "pci/pci_gpu_link_info/link_widths/current_link_width": "PCI/GPU Link Info/Link Width/Current",
    "pci/replay_counter": "PCI/Replays Since Reset",
    "fb_memory_usage/total": "FB Memory Usage/Total",
    "fb_memory_usage/reserved": "FB Memory Usage/Reserved",
    "fb_memory_usage/used": "FB Memory Usage/Used",
    "fb_memory_usage/free": "FB Memory Usage/Free",
    "utilization/gpu_util": "Utilization/GPU",
    "utilization/memory_util": "Utilization/Memory",
    "ecc_mode/current_ecc": "Ecc Mode/Current",
    "ecc_mode/pending_ecc": "Ecc Mode/Pending",
    "ecc_errors/volatile/sram_correctable": "ECC Errors/Volatile/SRAM Correctable",
    "ecc_errors/volatile/sram_uncorrectable_parity": "ECC Errors/Volatile/SRAM Uncorrectable Parity",
    "ecc_errors/volatile/sram_uncorrectable_secded": "ECC Errors/Volatile/SRAM Uncorrectable SEC-DED",
    "ecc_errors/volatile/dram_correctable": "ECC Errors/Volatile/DRAM Correctable",
    "ecc_errors/volatile/dram_uncorrectable": "ECC Errors/Volatile/DRAM Uncorrectable",
    "ecc_errors/volatile/single_bit/device_memory": "ECC Errors/Volatile/Single Bit/Device Memory",
    "ecc_errors/volatile/single_bit/total": "ECC Errors/Volatile/Single Bit/Total",
    "ecc_errors/volatile/double_bit/device_memory": "ECC Errors/Volatile/Double Bit/Device Memory",
    "ecc_errors/volatile/double_bit/total": "ECC Errors/Volatile/Double Bit/Total",
    "ecc_errors/aggregate/single_bit/total": "ECC Errors/Aggregate/Single Bit/Total",
    "ecc_errors/aggregate/double_bit/total": "ECC Errors/Aggregate/Double Bit/Total",
    "ecc_errors/aggregate/sram_correctable": "ECC Errors/Aggregate/SRAM Correctable",
    "ecc_errors/aggregate/sram_uncorrectable_parity": "ECC Errors/Aggregate/SRAM Uncorrectable Parity",
    "ecc_errors/aggregate/sram_uncorrectable_secded": "ECC Errors/Aggregate/SRAM Uncorrectable SEC-DED",
    "ecc_errors/aggregate/dram_correctable": "ECC Errors/Aggregate/DRAM Correctable",
    "ecc_errors/aggregate/dram_uncorrectable": "ECC Errors/Aggregate/DRAM Uncorrectable",
    "ecc_errors/aggregate/sram_threshold_exceeded": "ECC Errors/Aggregate/SRAM Threshold Exceeded",
    "ecc_errors/channel_repair_pending": "ECC Errors/Channel Repair Pending",
    "ecc_errors/tpc_repair_pending": "ECC Errors/TPC Repair Pending",
    "ecc_errors/unrepairable_memory": "ECC Errors/Unrepairable Memory",
    "retired_pages/multiple_single_bit_retirement/retired_count": "Retired Pages/Single Bit ECC",
    "retired_pages/double_bit_retirement/retired_count": "Retired Pages/Double Bit ECC",
    "retired_pages/pending_retirement": "Retired Pages/Pending Page Blacklist",
    "remapped_rows/remapped_row_corr": "Remapped Rows/Correctable Error",
    "remapped_rows/remapped_row_unc": "Remapped Rows/Uncorrectable Error",
    "remapped_rows/remapped_row_pending": "Remapped Rows/Pending",
    "remapped_rows/remapped_row_failure": "Remapped Rows/Remapping Failure Occurred",
    "remapped_rows/row_remapper_histogram/row_remapper_histogram_none": (
        "Remapped Rows/Bank Remap Availability Histogram/None"
    ),
    "temperature/gpu_temp": "Temperature/GPU Current Temp",
    "temperature/gpu_temp_tlimit": "Temperature/GPU T.Limit Temp",
    "temperature/gpu_temp_max_tlimit_threshold": "Temperature/GPU Shutdown T.Limit Temp",
    "temperature/gpu_temp_slow_tlimit_threshold": "Temperature/GPU Slowdown T.Limit Temp",
    "temperature/gpu_temp_max_threshold": "Temperature/GPU Shutdown Temp",
    "temperature/gpu_temp_slow_threshold": "Temperature/GPU Slowdown Temp",
    "temperature/memory_temp": "Temperature/Memory Current Temp",
    "temperature/gpu_temp_max_mem_tlimit_threshold": "Temperature/Memory Max Operating T.Limit Temp",
    "gpu_power_readings/average_power_draw": "GPU Power Readings/Average Power Draw",
    "gpu_power_readings/instant_power_draw": "GPU Power Readings/Instantaneous Power Draw",
    "gpu_power_readings/current_power_limit": "GPU Power Readings/Current Power Limit",
    "gpu_power_readings/default_power_limit": "GPU Power Readings/Default Power Limit",
    "gpu_power_readings/max_power_limit": "GPU Power Readings/Max Power Limit",
    "clocks/sm_clock": "Clocks/SM",
    "clocks/graphics_clock": "Clocks/Graphics",
    "clocks/mem_clock": "Clocks/Memory",
    "max_clocks/sm_clock": "Max Clocks/SM",
    "processes": "Processes",
}
REASONS: Mapping[str, str] = {
    "gpu_idle": "Idle",
    "applications_clocks_setting": "Applications Clocks Setting",
    "sw_power_cap": "SW Power Cap",
    "hw_slowdown": "HW Slowdown",
    "hw_thermal_slowdown": "HW Slowdown/HW Thermal Slowdown",
    "hw_power_brake_slowdown": "HW Slowdown/HW Power Brake Slowdown",
    "sw_thermal_slowdown": "SW Thermal Slowdown",
    "unknown": "Unknown",
}
SAID_TWICE = ("retired_pages/pending_blacklist", "mig_devices")
"""Tags that the text has no line of its own for."""


def compose_text(
    gpus: Iterable[Tags],
    driver: str = "580.95.05",
    cuda: str | None = "13.0",
    timestamp: str = "Tue Dec  1 08:00:00 2026",
    processes: Mapping[int, Iterable[Tags]] | None = None,
    width: int = 42,
) -> str:
    """The text of several boards. `processes` maps a board's number to its processes."""
    boards = apart(gpus)

    def line(depth: int, key: str, value: str) -> str:
        return f"{'    ' * depth}{key}".ljust(width) + f": {value}"

    lines = ["", "==============NVSMI LOG==============", "", line(0, "Timestamp", timestamp)]
    lines += [line(0, "Driver Version", driver), *([line(0, "CUDA Version", cuda)] if cuda else []), ""]
    lines.append(line(0, "Attached GPUs", str(len(boards))))
    for number, tags in enumerate(boards):
        lines.append(f"GPU {tags.get('pci/pci_bus_id', '')}")
        own = list((processes or {}).get(number, ()))
        open_groups: list[str] = []
        for tag, text in tags.items():
            if tag in SAID_TWICE or (own and tag == "processes"):
                continue
            *groups, key = _words(tag).split("/")
            for depth, group in enumerate(groups, 1):
                if open_groups[depth - 1 : depth] != [group]:
                    lines.append(f"{'    ' * depth}{group}")
                    open_groups[depth - 1 :] = [group]
            lines.append(line(len(groups) + 1, key, "None" if tag == "processes" else text))
            open_groups[len(groups) :] = [key]
        lines += _processes(own, line)
        lines.append("")
    return "\n".join(lines) + "\n"


def _words(tag: str) -> str:
    group, _, rest = tag.partition("/")
    if group.endswith("_reasons"):
        title = "Clocks Event Reasons" if "event" in group else "Clocks Throttle Reasons"
        return f"{title}/{REASONS[rest.partition('_reason_')[2]]}"
    return WORDS.get(tag) or tag.replace("_", " ").title()


def _processes(own: list[Tags], line: object) -> list[str]:
    assert callable(line)
    lines = ["    Processes"] if own else []
    for entry in own:
        lines += [line(2, "GPU instance ID", "N/A"), line(2, "Compute instance ID", "N/A")]
        lines.append(line(2, "Process ID", entry["pid"]))
        lines += [line(3, "Type", entry["type"]), line(3, "Name", entry["process_name"])]
        lines.append(line(3, "Used GPU Memory", entry["used_memory"]))
    return lines
