"""The board models of boards.yaml, found by PCI id or by the name that the vendor's tool prints.

Called by derive.py, which turns an entry into the facts `board.spec.*`. What is not known of a model is None, never a
default. Limits that a board reports itself are not known here and beat these.
"""

# Annotations are not postponed here: msgspec would evaluate the text of each in every run.

import functools
import re
from collections.abc import Callable, Mapping
from typing import TypeVar

from msgspec import Struct

from boardops.catalog.sourced import CONFIDENCES, read_catalog, read_sources, read_whole, shipped_catalog
from boardops.yamlfile import Item

SCHEMA = "boardops.boards/1"
VENDORS = (
    "nvidia",
    "ascend",
    "cambricon",
    "amd",
    "hygon",
    "metax",
    "iluvatar",
    "mthreads",
    "kunlunxin",
    "enflame",
)
LINK_KINDS = ("nvlink", "nvlink-bridge", "xgmi", "hccs", "ub", "mlu-link")
KEYS = (
    "id",
    "vendor",
    "names",
    "pci_ids",
    "architecture",
    "memory",
    "pcie",
    "link",
    "tdp_watts",
    "temperature",
    "features",
    "unified_memory",
    "sources",
    "confidence",
    "doubts",
)
GROUPS: Mapping[str, tuple[str, ...]] = {
    "memory": ("gb", "type"),
    "pcie": ("generation", "width_lanes", "width_min_lanes"),
    "link": ("kind", "count"),
    "temperature": ("slowdown_celsius", "shutdown_celsius", "memory_max_celsius"),
    "features": ("ecc", "row_remapping", "page_retirement", "mig"),
}
DOUBTABLE = (*KEYS, *(f"{group}.{key}" for group, keys in GROUPS.items() for key in keys))
_PCI_ID = r"^[0-9a-f]{4}:[0-9a-f]{4}$"
_Value = TypeVar("_Value")
_ID = r"^[a-z0-9]+(-[a-z0-9]+)*$"


class Doubt(Struct, frozen=True):
    """Why one value of an entry deserves another confidence than the entry."""

    key: str
    """The value's place in the file, such as `pcie.width_min_lanes`, or a group, such as `temperature`."""
    confidence: str
    why: str


class BoardEntry(Struct, frozen=True):
    """What is known of one board model; None where it is not."""

    id: str
    vendor: str
    names: tuple[str, ...]
    """Exactly as the vendor's tool prints them."""
    pci_ids: tuple[str, ...]
    """Such as `10de:2330`."""
    architecture: str | None
    memory_gb: float | int | None
    """Nominal, per device, in the GB of the data sheet."""
    memory_type: str | None
    pcie_generation: int | None
    pcie_width_lanes: int | None
    pcie_width_min_lanes: int | None
    """Fewest lanes that are normal for the model."""
    link_kind: str | None
    """One of LINK_KINDS."""
    link_count: int | None
    tdp_watts: float | int | None
    slowdown_celsius: float | int | None
    shutdown_celsius: float | int | None
    memory_max_celsius: float | int | None
    ecc: bool | None
    row_remapping: bool | None
    page_retirement: bool | None
    mig: bool | None
    unified_memory: bool | None
    """Whether the board works in the host's memory and has none of its own."""
    sources: tuple[str, ...]
    confidence: str
    """One of CONFIDENCES; holds for all values without a doubt of their own."""
    doubts: tuple[Doubt, ...]

    def confidence_of(self, key: str) -> str:
        """How far to trust one value, named by its place in the file (`pcie.width_min_lanes`)."""
        by_key = {doubt.key: doubt.confidence for doubt in self.doubts}
        return by_key.get(key) or by_key.get(key.partition(".")[0]) or self.confidence


def find_board(pci_device_id: str | None, model: str | None) -> BoardEntry | None:
    """The entry of a board, by its PCI id (`10de:2330`), else by the exact printed name.

    Where several models share the PCI id, the name decides; if it names none of them, the model is not known.

    >>> entry = find_board("10de:2330", None)
    >>> entry and (entry.id, entry.pcie_generation, entry.pcie_width_lanes)
    ('h100-sxm5', 5, 16)
    >>> find_board("19e5:d802", None) is None
    True
    """
    by_pci_id, by_name = _index()
    named = by_name.get(model or "")
    same_id = by_pci_id.get((pci_device_id or "").lower(), ())
    if len(same_id) == 1:
        return same_id[0]
    if same_id:
        return named if named in same_id else None
    return named


@functools.cache
def all_boards() -> tuple[BoardEntry, ...]:
    """All entries of the shipped catalog. Raises YamlError where the file is broken."""
    return shipped_catalog("boards", tuple[BoardEntry, ...], read_boards)


@functools.cache
def _index() -> tuple[Mapping[str, tuple[BoardEntry, ...]], Mapping[str, BoardEntry]]:
    by_pci_id: dict[str, tuple[BoardEntry, ...]] = {}
    for entry in all_boards():
        for pci_id in entry.pci_ids:
            by_pci_id[pci_id] = (*by_pci_id.get(pci_id, ()), entry)
    return by_pci_id, {name: entry for entry in all_boards() for name in entry.names}


def read_boards(text: str, file: str) -> tuple[BoardEntry, ...]:
    """The entries of a catalog text. Raises YamlError with file and line."""
    catalog = read_catalog(text, file, SCHEMA, ("boards",))
    entries: list[BoardEntry] = []
    taken: dict[str, str] = {}
    for item in catalog.parts["boards"].list("boards"):
        entry = _entry(item, catalog.sources)
        for word in (f"id {entry.id}", *(f"name {name}" for name in entry.names)):
            if word in taken:
                raise item.error(f"the {word} is already that of the board {taken[word]}")
            taken[word] = entry.id
        entries.append(entry)
    return tuple(entries)


def _entry(item: Item, sources: Mapping[str, str]) -> BoardEntry:
    keys = item.map("a board", KEYS, ("id", "vendor", "names", "sources", "confidence"))
    groups = {name: keys[name].map(name, known) if name in keys else {} for name, known in GROUPS.items()}
    memory, pcie, link = groups["memory"], groups["pcie"], groups["link"]
    temperature, features = groups["temperature"], groups["features"]
    return BoardEntry(
        id=_matching(keys["id"], "id", _ID),
        vendor=keys["vendor"].one_of("vendor", VENDORS),
        names=_names(keys["names"]),
        pci_ids=_pci_ids(keys),
        architecture=_maybe(keys, "architecture", Item.text),
        memory_gb=_maybe(memory, "gb", Item.number),
        memory_type=_maybe(memory, "type", Item.text),
        pcie_generation=_maybe(pcie, "generation", read_whole),
        pcie_width_lanes=_maybe(pcie, "width_lanes", read_whole),
        pcie_width_min_lanes=_maybe(pcie, "width_min_lanes", read_whole),
        link_kind=link["kind"].one_of("kind", LINK_KINDS) if "kind" in link else None,
        link_count=_maybe(link, "count", read_whole),
        tdp_watts=_maybe(keys, "tdp_watts", Item.number),
        slowdown_celsius=_maybe(temperature, "slowdown_celsius", Item.number),
        shutdown_celsius=_maybe(temperature, "shutdown_celsius", Item.number),
        memory_max_celsius=_maybe(temperature, "memory_max_celsius", Item.number),
        ecc=_maybe(features, "ecc", Item.flag),
        row_remapping=_maybe(features, "row_remapping", Item.flag),
        page_retirement=_maybe(features, "page_retirement", Item.flag),
        mig=_maybe(features, "mig", Item.flag),
        unified_memory=_maybe(keys, "unified_memory", Item.flag),
        sources=read_sources(keys["sources"], sources),
        confidence=keys["confidence"].one_of("confidence", CONFIDENCES),
        doubts=_doubts(keys["doubts"]) if "doubts" in keys else (),
    )


def _maybe(keys: Mapping[str, Item], key: str, read: Callable[[Item, str], _Value]) -> _Value | None:
    return read(keys[key], key) if key in keys else None


def _matching(item: Item, what: str, pattern: str) -> str:
    text = item.text(what)
    if not re.match(pattern, text):
        raise item.error(f"{what} must look like {pattern}, not {text!r}")
    return text


def _names(item: Item) -> tuple[str, ...]:
    names = tuple(each.text("a name") for each in item.list("names"))
    if not names:
        raise item.error("names must hold at least one printed name")
    return names


def _pci_ids(keys: Mapping[str, Item]) -> tuple[str, ...]:
    if "pci_ids" not in keys:
        return ()
    return tuple(_matching(each, "a PCI id", _PCI_ID) for each in keys["pci_ids"].list("pci_ids"))


def _doubts(item: Item) -> tuple[Doubt, ...]:
    doubts = []
    for key, value in item.map("doubts", DOUBTABLE).items():
        told = value.map(f"the doubt about {key}", ("confidence", "why"), ("confidence", "why"))
        doubts.append(Doubt(key, told["confidence"].one_of("confidence", CONFIDENCES), told["why"].text("why")))
    return tuple(doubts)
