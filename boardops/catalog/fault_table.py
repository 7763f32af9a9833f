"""The tables of fault codes in faults.yaml and sxids.yaml: their values, and how they are read strictly.

Called by faults.py, which answers questions from them. Knows no line of a log and no board of this machine.
"""

# Annotations are not postponed here: msgspec would evaluate the text of each in every run.

from collections.abc import Mapping, Sequence

from msgspec import Struct

from boardops.catalog.sourced import CONFIDENCES, read_catalog, read_source, read_sources, read_whole
from boardops.facts import ACTIONS, SEVERITIES, FaultKind, Severity
from boardops.yamlfile import Item

SCHEMA = "boardops.faults/1"
SXID_SCHEMA = "boardops.sxids/1"
KINDS: tuple[FaultKind, ...] = ("xid", "aer", "kernel")
"""The kinds of faults.yaml; `sxid` has a file of its own."""
ACTORS = ("user", "operator", "vendor")
PRE_AMPERE = "pre-Ampere"
PLACES = (PRE_AMPERE, "Ampere", "Hopper", "Blackwell", "Grace Blackwell", "NVSwitch", "not in data centers", "any")
"""Where the vendor's table lists a code."""
GUIDE_CLASSES = ("always-fatal", "potentially-fatal", "non-fatal", "notable-other")
NEEDED = ("code", "name", "meaning", "who", "severity", "action", "applies_to", "sources", "confidence")
KEYS = (*NEEDED, "identifier", "steps", "since_driver", "also", "opinions", "choice", "variants")
VARIANT_KEYS = ("says", "architectures", "name", "meaning", "severity", "action", "steps")
SXID_NEEDED = ("code", "name", "says", "fatal", "do", "sources", "confidence")
_DISAGREE = "Sources do not agree: where the line itself does not say, the code is a warning."


class Opinion(Struct, frozen=True):
    """What one source says of a code on which sources do not agree."""

    source: str
    says: str


class Variant(Struct, frozen=True):
    """What is different where the line, or the board, says more; None where it is as in the entry."""

    says: tuple[str, ...]
    """Words of the line, any of them, in small letters."""
    architectures: tuple[str, ...]
    name: str | None
    meaning: str | None
    severity: Severity | None
    action: str | None
    steps: tuple[str, ...] | None


class FaultEntry(Struct, frozen=True):
    """What is known of one fault code."""

    kind: FaultKind
    code: str
    name: str
    meaning: str
    who: str
    """Who acts, one of ACTORS."""
    severity: Severity
    action: str
    """One of the closed list of actions."""
    steps: tuple[str, ...]
    applies_to: tuple[str, ...]
    """Some of PLACES."""
    sources: tuple[str, ...]
    confidence: str
    identifier: str = ""
    """The vendor's own name of the code."""
    since_driver: int | None = None
    """The first driver branch known to use the code; None for all."""
    also: tuple[str, ...] = ()
    opinions: tuple[Opinion, ...] = ()
    choice: str = ""
    """Why we chose as we did where the opinions differ."""
    variants: tuple[Variant, ...] = ()
    fatal: bool | None = None
    """For a SXid: whether the code is fatal where the line does not say so."""
    guide: str = ""
    """For a SXid: how the Fabric Manager guide sorts it, one of GUIDE_CLASSES."""


class FaultTable(Struct, frozen=True):
    """All codes of one file, with what the short names of their sources stand for."""

    entries: tuple[FaultEntry, ...]
    sources: dict[str, str]
    blocks: dict[str, str]
    """For SXids: the part of the switch by the thousands of the code (`11`)."""
    recoveries: dict[str, Variant]
    """For Xid 154: what the driver asks for, by the words of fault_lines.py."""


def read_faults(text: str, file: str) -> FaultTable:
    """The table of faults.yaml. Raises YamlError with file and line."""
    catalog = read_catalog(text, file, SCHEMA, ("procedures", "recoveries", *KINDS))
    procedures = {name: _texts(item, name) for name, item in catalog.parts["procedures"].map("procedures").items()}
    entries: list[FaultEntry] = []
    for kind in KINDS:
        taken: dict[str, str] = {}
        for item in catalog.parts[kind].list(kind):
            entry = _entry(item, kind, procedures, catalog.sources)
            _take(taken, entry, item)
            entries.append(entry)
    recoveries = {
        name: _variant(item, procedures, ()) for name, item in catalog.parts["recoveries"].map("recoveries").items()
    }
    return FaultTable(tuple(entries), dict(catalog.sources), {}, recoveries)


def _take(taken: dict[str, str], entry: FaultEntry, item: Item) -> None:
    for code in (entry.code, *entry.also):
        word = plain(code)
        if word in taken:
            raise item.error(f"the code {code} is already that of the entry {taken[word]}")
        taken[word] = entry.code


def plain(code: str) -> str:
    """A code without what differs between spellings: small letters and digits only.

    >>> plain("BadTLP"), plain("bad-tlp"), plain(" 079 ")
    ('badtlp', 'badtlp', '79')
    """
    word = "".join(char for char in code[:100].lower() if char.isascii() and char.isalnum())
    return word.lstrip("0") or word[:1] if word.isdigit() else word


def _entry(
    item: Item, kind: FaultKind, procedures: Mapping[str, Sequence[str]], sources: Mapping[str, str]
) -> FaultEntry:
    keys = item.map("a fault", KEYS, NEEDED)
    opinions = _opinions(keys["opinions"], sources) if "opinions" in keys else ()
    if bool(opinions) != ("choice" in keys):
        raise item.error("opinions and choice go together: say why we chose as we did")
    return FaultEntry(
        kind=kind,
        code=keys["code"].text("code"),
        name=keys["name"].text("name"),
        meaning=keys["meaning"].text("meaning"),
        who=keys["who"].one_of("who", ACTORS),
        severity=_severity(keys["severity"]),
        action=keys["action"].one_of("action", ACTIONS),
        steps=_steps(keys["steps"], procedures) if "steps" in keys else (),
        applies_to=tuple(each.one_of("applies_to", PLACES) for each in keys["applies_to"].list("applies_to")),
        sources=read_sources(keys["sources"], sources),
        confidence=keys["confidence"].one_of("confidence", CONFIDENCES),
        identifier=keys["identifier"].text("identifier") if "identifier" in keys else "",
        since_driver=read_whole(keys["since_driver"], "since_driver") if "since_driver" in keys else None,
        also=_texts(keys["also"], "also") if "also" in keys else (),
        opinions=opinions,
        choice=keys["choice"].text("choice") if "choice" in keys else "",
        variants=tuple(_variant(each, procedures) for each in keys["variants"].list("variants"))
        if "variants" in keys
        else (),
    )


def _severity(item: Item) -> Severity:
    return item.one_of("severity", SEVERITIES)  # type: ignore[return-value]


def _texts(item: Item, what: str) -> tuple[str, ...]:
    return tuple(each.text(f"an entry of {what}") for each in item.list(what))


def _steps(item: Item, procedures: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """A list of steps, or the name of a procedure."""
    if isinstance(item.value, list):
        return _texts(item, "steps")
    return tuple(procedures[item.one_of("steps", procedures)])


def _opinions(item: Item, sources: Mapping[str, str]) -> tuple[Opinion, ...]:
    opinions = []
    for each in item.list("opinions"):
        keys = each.map("an opinion", ("source", "says"), ("source", "says"))
        opinions.append(Opinion(read_source(keys["source"], sources), keys["says"].text("says")))
    if len({opinion.source for opinion in opinions}) < 2:
        raise item.error("opinions must name at least two sources")
    return tuple(opinions)


def _variant(item: Item, procedures: Mapping[str, Sequence[str]], required: Sequence[str] = ("says",)) -> Variant:
    keys = item.map("a variant", VARIANT_KEYS, required)
    says = _texts(keys["says"], "says") if "says" in keys else ()
    if not all(says) or any(word != word.lower() for word in says):
        raise keys["says"].error("says must hold words in small letters")
    places = keys["architectures"].list("architectures") if "architectures" in keys else ()
    return Variant(
        says,
        tuple(each.one_of("architectures", PLACES) for each in places),
        keys["name"].text("name") if "name" in keys else None,
        keys["meaning"].text("meaning") if "meaning" in keys else None,
        _severity(keys["severity"]) if "severity" in keys else None,
        keys["action"].one_of("action", ACTIONS) if "action" in keys else None,
        _steps(keys["steps"], procedures) if "steps" in keys else None,
    )


class _Remedy(Struct, frozen=True):
    """What is to be done about SXids of one sort."""

    who: str
    severity: Severity
    action: str
    steps: tuple[str, ...]


def read_sxids(text: str, file: str) -> FaultTable:
    """The table of sxids.yaml. Raises YamlError with file and line."""
    catalog = read_catalog(text, file, SXID_SCHEMA, ("remedies", "blocks", "opinions", "codes"))
    parts = catalog.parts
    remedies = {name: _remedy(item) for name, item in parts["remedies"].map("remedies").items()}
    blocks = {key: item.text("a block") for key, item in parts["blocks"].map("blocks").items()}
    opinions = {key: _disagreement(item, catalog.sources) for key, item in parts["opinions"].map("opinions").items()}
    entries: list[FaultEntry] = []
    taken: dict[str, str] = {}
    for item in parts["codes"].list("codes"):
        entry = _sxid(item, remedies, opinions, catalog.sources)
        if entry.code[:-3] not in blocks:
            raise item.error(f"the code {entry.code} is in none of the blocks")
        _take(taken, entry, item)
        entries.append(entry)
    if unknown := set(opinions) - {entry.code for entry in entries}:
        raise parts["opinions"].error(f"opinions on codes that are not here: {', '.join(sorted(unknown))}")
    return FaultTable(tuple(entries), dict(catalog.sources), blocks, {})


def _remedy(item: Item) -> _Remedy:
    names = ("who", "severity", "action", "steps")
    keys = item.map("a remedy", names, names)
    return _Remedy(
        keys["who"].one_of("who", ACTORS),
        _severity(keys["severity"]),
        keys["action"].one_of("action", ACTIONS),
        _texts(keys["steps"], "steps"),
    )


def _disagreement(item: Item, sources: Mapping[str, str]) -> tuple[Opinion, ...]:
    """That one source calls a code fatal and another harmless."""
    keys = item.map("an opinion", ("fatal", "harmless"), ("fatal", "harmless"))
    return (
        Opinion(read_source(keys["fatal"], sources), "fatal"),
        Opinion(read_source(keys["harmless"], sources), "not fatal"),
    )


def _sxid(
    item: Item,
    remedies: Mapping[str, _Remedy],
    opinions: Mapping[str, tuple[Opinion, ...]],
    sources: Mapping[str, str],
) -> FaultEntry:
    keys = item.map("a SXid", (*SXID_NEEDED, "identifier", "guide"), SXID_NEEDED)
    code = str(read_whole(keys["code"], "code"))
    remedy = remedies[keys["do"].one_of("do", remedies)]
    told = opinions.get(code, ())
    fatal = keys["fatal"].flag("fatal")
    if fatal != (remedy.severity == "fail"):
        raise item.error("fatal and the severity of the remedy do not fit together")
    return FaultEntry(
        kind="sxid",
        code=code,
        name=keys["name"].text("name"),
        meaning=f"NVSwitch reports: {keys['says'].text('says')}.",
        who=remedy.who,
        severity="warn" if told else remedy.severity,
        action=remedy.action,
        steps=remedy.steps,
        applies_to=("NVSwitch",),
        sources=read_sources(keys["sources"], sources),
        confidence=keys["confidence"].one_of("confidence", CONFIDENCES),
        identifier=keys["identifier"].text("identifier") if "identifier" in keys else "",
        opinions=told,
        choice=_DISAGREE if told else "",
        fatal=fatal,
        guide=keys["guide"].one_of("guide", GUIDE_CLASSES) if "guide" in keys else "",
    )
