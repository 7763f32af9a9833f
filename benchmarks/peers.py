"""A verdict on eight boards against other programs that look at the same eight boards."""

from __future__ import annotations

import json

from benchmarks.bench import OURS, Bench
from benchmarks.measure import Command, NotMeasuredError, compare, output
from benchmarks.table import Row, ratio_row

GPUCM_CHECKS = (
    *("gpu_num", "running_procs", "clock_freq", "gpu_temperature", "gpu_mem_usage", "gpu_retired_pages"),
    *("ecc_uncorrected_volatile_total", "ecc_corrected_volatile_total", "row_remap", "row_remap_pending"),
    *("row_remap_failed", "vbios_mismatch"),
)
"""All checks of its `check-nvidia-smi` but `running_procs_and_kill`, which does `running_procs` and then may kill."""
GPUCM_LIMITS = (
    *("--gpu_temperature_threshold", "84", "--gpu_vbios", "96.00.89.00.01", "--gpu_app_freq", "1980"),
    *("--gpu_app_mem_freq", "2619", "--gpu_mem_usage_threshold", "1000"),
)
GPUCM_CODE = 2
"""It compares the VBIOS version as bytes with a text, so this check fails always."""


def nvitop(bench: Bench) -> list[Row]:
    """Against one look of nvitop."""
    theirs = Command([bench.program("nvitop"), "-1"], bench.eight.env)
    _need(output(theirs).count(" 00000000:") == 8, "nvitop does not show eight boards")
    ratio = compare(bench.check(bench.eight), theirs, bench.pairs)
    return [ratio_row(_OUR_CHECK, f"nvitop -1 ({bench.version('nvitop')})", ratio, cpu=1.5, wall=1.5)]


def gpustat(bench: Bench) -> list[Row]:
    """Against one look of gpustat."""
    theirs = Command([bench.program("gpustat"), "--json"], bench.eight.env)
    _need(len(json.loads(output(theirs))["gpus"]) == 8, "gpustat does not show eight boards")
    ratio = compare(bench.check(bench.eight), theirs, bench.pairs)
    return [ratio_row(_OUR_CHECK, f"gpustat --json ({bench.version('gpustat')})", ratio, wall=0.25)]


def gpucm(bench: Bench) -> list[Row]:
    """Against the twelve checks of NVIDIA boards in Meta's GPU cluster monitoring, in one run of its program."""
    chosen = [word for name in GPUCM_CHECKS for word in ("-c", name)]
    words = ["check-nvidia-smi", "bench", "app", "--log-folder", str(bench.folder / "gpucm"), "--sink", "do_nothing"]
    argv = [bench.program("gpucm", "health_checks"), *words, *chosen, *GPUCM_LIMITS]
    said = output(Command([*argv, "--verbose-out"], bench.eight.env, GPUCM_CODE))
    _need("Function Not Found" not in said, "gpucm asks for what the stand-in driver does not have")
    theirs = Command(argv, bench.eight.env, GPUCM_CODE)
    ratio = compare(bench.check(bench.eight), theirs, bench.pairs)
    reference = f"health_checks check-nvidia-smi, {len(GPUCM_CHECKS)} checks ({bench.version('gpucm')})"
    return [ratio_row(_OUR_CHECK, reference, ratio, cpu=0.5)]


def _need(condition: bool, otherwise: str) -> None:
    if not condition:
        raise NotMeasuredError(otherwise)


_OUR_CHECK = f"{OURS} check, 8 boards"
PARTS = (nvitop, gpustat, gpucm)
