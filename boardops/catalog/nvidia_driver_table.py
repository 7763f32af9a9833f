"""The table of NVIDIA drivers in nvidia_drivers.yaml: its values, and how it is read strictly.

Called by nvidia_drivers.py, which answers questions from it. Knows no question and no version of this machine.
"""

# Annotations are not postponed here: msgspec would evaluate the text of each in every run.

import datetime
from collections.abc import Mapping

from msgspec import Struct

from boardops.catalog.sourced import CONFIDENCES, read_catalog, read_date, read_source, read_sources, read_whole
from boardops.versions import looks_like_version, version_key
from boardops.yamlfile import Item

SCHEMA = "boardops.nvidia_drivers/1"
KINDS = ("LTS", "PB", "NFB")
BRANCH_KEYS = ("branch", "kind", "first_release", "ends", "max_cuda", "sources", "confidence")


class EndDate(Struct, frozen=True):
    """When one source says that support of a branch ends."""

    date: datetime.date
    source: str


class MaxCuda(Struct, frozen=True):
    """The newest CUDA version that a branch serves."""

    version: str
    confidence: str
    why: str


class Branch(Struct, frozen=True):
    """One driver branch, such as 580."""

    branch: int
    kind: str | None
    """LTS, PB or NFB."""
    first_release: datetime.date | None
    ends: tuple[EndDate, ...]
    """What each source says; empty where none gives an end."""
    max_cuda: MaxCuda | None
    sources: tuple[str, ...]
    confidence: str

    @property
    def end(self) -> EndDate | None:
        """The latest end that a source gives."""
        return max(self.ends, key=lambda end: end.date, default=None)


class Floor(Struct, frozen=True):
    """The oldest driver for all toolkits of one CUDA major version."""

    cuda_major: int
    driver: str
    sources: tuple[str, ...]
    confidence: str


class Toolkit(Struct, frozen=True):
    """One CUDA toolkit and the drivers that came with it, oldest first."""

    cuda: str
    drivers: tuple[str, ...]
    source: str
    confidence: str


class LastBranch(Struct, frozen=True):
    """The last driver branch for an architecture."""

    architecture: str
    branch: int
    sources: tuple[str, ...]
    confidence: str


class Drivers(Struct, frozen=True):
    """The whole catalog; branches and toolkits from newest to oldest."""

    read: datetime.date
    branches: tuple[Branch, ...]
    floors: tuple[Floor, ...]
    toolkits: tuple[Toolkit, ...]
    architectures: tuple[LastBranch, ...]


def read_drivers(text: str, file: str) -> Drivers:
    """A catalog text. Raises YamlError with file and line."""
    catalog = read_catalog(text, file, SCHEMA, ("branches", "floors", "toolkits", "architectures"))
    parts, sources = catalog.parts, catalog.sources
    branches = [_branch(item, sources) for item in parts["branches"].list("branches")]
    if not branches or [branch.branch for branch in branches] != sorted({b.branch for b in branches}, reverse=True):
        raise parts["branches"].error("branches must be listed once each, from newest to oldest")
    toolkits = [_toolkit(item, sources) for item in parts["toolkits"].list("toolkits")]
    if [toolkit.cuda for toolkit in toolkits] != sorted({t.cuda for t in toolkits}, key=version_key, reverse=True):
        raise parts["toolkits"].error("toolkits must be listed once each, from newest to oldest")
    return Drivers(
        catalog.read,
        tuple(branches),
        tuple(_floor(item, sources) for item in parts["floors"].list("floors")),
        tuple(toolkits),
        tuple(_last_branch(item, sources) for item in parts["architectures"].list("architectures")),
    )


def _branch(item: Item, sources: Mapping[str, str]) -> Branch:
    keys = item.map("a branch", BRANCH_KEYS, ("branch", "sources", "confidence"))
    return Branch(
        branch=read_whole(keys["branch"], "branch"),
        kind=keys["kind"].one_of("kind", KINDS) if "kind" in keys else None,
        first_release=read_date(keys["first_release"], "first_release") if "first_release" in keys else None,
        ends=tuple(_end(each, sources) for each in keys["ends"].list("ends")) if "ends" in keys else (),
        max_cuda=_max_cuda(keys["max_cuda"]) if "max_cuda" in keys else None,
        sources=read_sources(keys["sources"], sources),
        confidence=keys["confidence"].one_of("confidence", CONFIDENCES),
    )


def _end(item: Item, sources: Mapping[str, str]) -> EndDate:
    keys = item.map("an end", ("date", "source"), ("date", "source"))
    return EndDate(read_date(keys["date"], "date"), read_source(keys["source"], sources))


def _max_cuda(item: Item) -> MaxCuda:
    names = ("version", "confidence", "why")
    keys = item.map("max_cuda", names, names)
    confidence = keys["confidence"].one_of("confidence", CONFIDENCES)
    return MaxCuda(_version(keys["version"], "version"), confidence, keys["why"].text("why"))


def _floor(item: Item, sources: Mapping[str, str]) -> Floor:
    names = ("cuda_major", "driver", "sources", "confidence")
    keys = item.map("a floor", names, names)
    return Floor(
        read_whole(keys["cuda_major"], "cuda_major"),
        _version(keys["driver"], "driver"),
        read_sources(keys["sources"], sources),
        keys["confidence"].one_of("confidence", CONFIDENCES),
    )


def _toolkit(item: Item, sources: Mapping[str, str]) -> Toolkit:
    names = ("cuda", "drivers", "source", "confidence")
    keys = item.map("a toolkit", names, names)
    drivers = tuple(_version(each, "a driver") for each in keys["drivers"].list("drivers"))
    if not drivers or list(drivers) != sorted(drivers, key=version_key):
        raise keys["drivers"].error("drivers must name at least one driver, oldest first")
    return Toolkit(
        _version(keys["cuda"], "cuda"),
        drivers,
        read_source(keys["source"], sources),
        keys["confidence"].one_of("confidence", CONFIDENCES),
    )


def _last_branch(item: Item, sources: Mapping[str, str]) -> LastBranch:
    names = ("architecture", "last_branch", "sources", "confidence")
    keys = item.map("an architecture", names, names)
    return LastBranch(
        keys["architecture"].text("architecture"),
        read_whole(keys["last_branch"], "last_branch"),
        read_sources(keys["sources"], sources),
        keys["confidence"].one_of("confidence", CONFIDENCES),
    )


def _version(item: Item, what: str) -> str:
    text = item.text(what)
    if not looks_like_version(text):
        raise item.error(f"{what} must be a version, not {item.shown()}")
    return text
