"""NVIDIA driver branches, their end of life, and which CUDA they serve, from nvidia_drivers.yaml.

Called by derive.py for the facts of the host's software. Every answer is for Linux and without the forward
compatibility package, which the catalog cannot see. An end of life is the latest that any source gives, so that nobody
is warned too early.

The functions that give a bare value (`end_of_life`, `oldest_driver_for`, `newest_cuda_for`) have a sister that also
tells source and confidence (`support_end`, `driver_floor`, `cuda_ceiling`).
"""

from __future__ import annotations

import datetime
import functools
import re
from collections.abc import Iterator

from msgspec import Struct

from boardops.catalog.nvidia_driver_table import Branch, Drivers, LastBranch, read_drivers
from boardops.catalog.sourced import shipped_catalog
from boardops.versions import looks_like_version, version_key

_CUDA = r"^\s*[vV]?(\d{1,9})\.(\d{1,9})(?:\.|\s*$)"
_BRANCH = r"\d{1,9}(?!\d)"
"""A longer number is no branch, and Python refuses to read the longest."""


class SupportEnd(Struct, frozen=True):
    """The last day on which a driver is supported, or, where `bound`, a day by which support was over."""

    date: datetime.date
    bound: bool
    why: str
    sources: tuple[str, ...]
    confidence: str


class Limit(Struct, frozen=True):
    """A driver version or a CUDA version that bounds the other."""

    version: str
    why: str
    sources: tuple[str, ...]
    confidence: str


def branch_of(driver_version: str) -> Branch | None:
    """The branch of a driver version, None where the catalog has none.

    >>> branch = branch_of("580.105.08")
    >>> branch and (branch.branch, branch.kind)
    (580, 'LTS')
    """
    number = _branch_number(driver_version)
    return next((branch for branch in nvidia_drivers().branches if branch.branch == number), None)


def end_of_life(driver_version: str) -> datetime.date | None:
    """The last day on which a driver is supported; see `support_end` for how, and how far to trust it.

    >>> end_of_life("570.148.08")
    datetime.date(2026, 2, 28)
    """
    end = support_end(driver_version)
    return end.date if end else None


def support_end(driver_version: str) -> SupportEnd | None:
    """When support of a driver ends, None where nothing is known (a branch newer than the catalog, or without an end).

    A branch without an end of its own ended by the time at which the next newer one did. That is only said where it is
    past on the day on which the catalog was read: for an old driver it is certain, for a new one it would be a guess.
    """
    number = _branch_number(driver_version)
    if number is None:
        return None
    branch = branch_of(driver_version)
    if branch is not None and branch.end is not None:
        several = f", the latest of {len(branch.ends)} dates in the sources" if len(branch.ends) > 1 else ""
        why = f"support of branch {number} ends then{several}"
        return SupportEnd(branch.end.date, False, why, (branch.end.source,), branch.confidence)
    catalog = nvidia_drivers()
    newer = [other for other in catalog.branches if other.branch > number and other.end is not None]
    if not newer or newer[-1].end is None or newer[-1].end.date > catalog.read:
        return None
    why = f"no source gives an end for branch {number}; the newer branch {newer[-1].branch} ended then"
    return SupportEnd(newer[-1].end.date, True, why, (newer[-1].end.source,), newer[-1].confidence)


def oldest_driver_for(cuda_version: str) -> str | None:
    """The oldest driver on which a CUDA version (`12.4`, `12.4.1`) runs, None where the catalog does not know it.

    >>> oldest_driver_for("12.4"), oldest_driver_for("10.2"), oldest_driver_for("99.0")
    ('525', '440.33', None)
    """
    limit = driver_floor(cuda_version)
    return limit.version if limit else None


def driver_floor(cuda_version: str) -> Limit | None:
    """The floor of the CUDA major version, or the driver that came with the toolkit where that one is older.

    Up to CUDA 10 there is no floor, and only the toolkit's own driver counts.
    """
    found = re.match(_CUDA, cuda_version)
    if not found:
        return None
    major, minor = found.groups()
    catalog = nvidia_drivers()
    limits = [
        Limit(floor.driver, f"minor version compatibility of CUDA {major}", floor.sources, floor.confidence)
        for floor in catalog.floors
        if floor.cuda_major == int(major)
    ] + [
        Limit(toolkit.drivers[0], f"came with CUDA {toolkit.cuda}", (toolkit.source,), toolkit.confidence)
        for toolkit in catalog.toolkits
        if toolkit.cuda == f"{int(major)}.{int(minor)}"
    ]
    return min(limits, key=lambda limit: version_key(limit.version), default=None)


def newest_cuda_for(driver_version: str) -> str | None:
    """The newest CUDA version that a driver serves, None where the catalog does not know its branch.

    >>> newest_cuda_for("535.104.05"), newest_cuda_for("700.10")
    ('12.2', None)
    """
    limit = cuda_ceiling(driver_version)
    return limit.version if limit else None


def cuda_ceiling(driver_version: str) -> Limit | None:
    """The newest CUDA version of the driver's branch.

    For a branch that is missing in the table, the newer of what the next older branch serves and of the newest toolkit
    whose driver is not newer.
    """
    branch = branch_of(driver_version)
    if branch is not None:
        top = branch.max_cuda
        return Limit(top.version, top.why, branch.sources, top.confidence) if top else None
    number = _branch_number(driver_version)
    catalog = nvidia_drivers()
    if number is None or number > catalog.branches[0].branch:
        return None
    return max(_ceilings_below(number, driver_version), key=lambda limit: version_key(limit.version), default=None)


def _ceilings_below(number: int, driver_version: str) -> Iterator[Limit]:
    """What the next older branch serves, and the newest toolkit whose driver is not newer."""
    catalog = nvidia_drivers()
    older = next((one for one in catalog.branches if one.branch < number and one.max_cuda), None)
    if older is not None and older.max_cuda is not None:
        why = f"a driver serves what the older branch {older.branch} serves"
        yield Limit(older.max_cuda.version, why, older.sources, "low")
    key = version_key(driver_version)
    for toolkit in catalog.toolkits:
        if version_key(toolkit.drivers[0]) <= key:
            why = f"the newest toolkit whose driver ({toolkit.drivers[0]}) is not newer"
            yield Limit(toolkit.cuda, why, (toolkit.source,), "low")
            return


def last_branch_for(architecture: str) -> LastBranch | None:
    """The last driver branch for an architecture as boards.yaml names it; None where newer drivers still have it."""
    return next((last for last in nvidia_drivers().architectures if last.architecture == architecture), None)


def _branch_number(driver_version: str) -> int | None:
    text = driver_version.strip()
    first = re.match(_BRANCH, text)
    return int(first[0]) if first and looks_like_version(text) else None


@functools.cache
def nvidia_drivers() -> Drivers:
    """The shipped catalog. Raises YamlError where the file is broken."""
    return shipped_catalog("nvidia_drivers", Drivers, read_drivers)
