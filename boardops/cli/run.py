"""One run of `boardops check` without its command line: sources, facts, rules, result.

The only module that walks the whole road. Clock and disk are touched here and in collect; everything it calls behind
the first station is pure.
"""

from __future__ import annotations

import contextlib
import datetime
import os
import select
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from dataclasses import replace as replace_fields
from fnmatch import fnmatchcase
from pathlib import Path
from time import monotonic

from msgspec.structs import replace

from boardops import __version__
from boardops.assemble import assemble
from boardops.collect import collect, known_sources
from boardops.derive import derive
from boardops.errors import BoardopsError
from boardops.evaluate import evaluate
from boardops.evidence import MAX_BYTES, EvidenceError, File, failed, join, read_file
from boardops.facts import Board, Evidence, Facts, Host, Missing, Value, board_key
from boardops.locate import shipped
from boardops.quantities import parse
from boardops.readers.nvidia_smi_xml import pci_address
from boardops.readers.reading import Reading
from boardops.record import answers_of, is_record
from boardops.record import dump as dump_record
from boardops.record import load as load_record
from boardops.rules import RuleSet, load
from boardops.score import (
    SCHEMA,
    HostResult,
    Readiness,
    Result,
    RuleFiles,
    coverage_of,
    host_readiness,
    readiness_of,
    score_boards,
    worst,
)
from boardops.versions import looks_like_version
from boardops.yamlfile import nearest

SITE_RULES = Path("/etc/boardops/rules.d")
NEEDS: Mapping[str, str] = {"boards": "need.board_count", "free": "need.free_bytes", "cuda": "need.cuda_version"}


@dataclass(frozen=True, slots=True)
class Request:
    """What a user asked for."""

    intent: str | None = None
    """None: as recorded, else predeploy."""
    profile: str = "quick"
    needs: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    rules: tuple[str, ...] = ()
    only: tuple[str, ...] = ()
    skip: tuple[str, ...] = ()
    boards: tuple[str, ...] = ()
    cpu: bool = False
    at: datetime.datetime | None = None
    deadline_seconds: float = 30.0
    language: str = "en"
    site_rules: Path = field(default=SITE_RULES)
    root: str = "/"
    """For tests: the folder that stands for the root of this machine's files."""


@dataclass(frozen=True, slots=True)
class Sources:
    """What the first station gave."""

    host: Mapping[str, Value]
    boards: tuple[Mapping[str, Value], ...]
    evidence: tuple[Evidence, ...]
    read_from: Mapping[str, Mapping[str, str]]
    partial: tuple[str, ...] = ()
    unread: tuple[str, ...] = ()
    """Sentences on files that could not be read at all."""
    read_at: str | None = None
    intent: str | None = None
    needs: tuple[str, ...] = ()
    """What a record says that its run was asked for."""
    record: str | None = None
    """The evidence as a record, where the run was live."""


@dataclass(frozen=True, slots=True)
class Performed:
    """A judged run, and its evidence as a record where it was live."""

    result: Result
    record: str | None


def perform(request: Request, now: Callable[[], datetime.datetime]) -> Result:
    """Judge what was asked for. Raises BoardopsError for what the user must mend."""
    return perform_and_keep(request, now).result


def perform_and_keep(request: Request, now: Callable[[], datetime.datetime]) -> Performed:
    """Judge what was asked for. Raises BoardopsError for what the user must mend."""
    started, clock = now(), monotonic()
    rules = load(rule_layers(request.rules, request.site_rules))
    left_out = _left_out(rules, request.only, request.skip)
    needs = read_needs(request.needs)
    sources = _from_files(request.files, request.deadline_seconds) if request.files else _live(request, now)
    request = replace_fields(request, intent=request.intent or sources.intent or "predeploy")
    needs = needs if request.needs else read_needs(sources.needs)
    at = request.at or _time(sources.read_at) or started
    host_values = {**sources.host, **needs, "intent": intent_of(request)}
    host, boards = derive(host_values, sources.boards, at)
    facts = Facts(host, boards, sources.evidence, sources.read_from)
    result = judge(facts, rules, at, left_out, request, sources)
    return Performed(replace(result, started_at=_stamp(started), seconds=round(monotonic() - clock, 3)), sources.record)


def intent_of(request: Request) -> str:
    """What the machine is meant to do now; predeploy unless somebody says otherwise."""
    return request.intent or "predeploy"


def judge(
    facts: Facts,
    rules: RuleSet,
    at: datetime.datetime,
    left_out: Mapping[str, str],
    request: Request,
    sources: Sources,
) -> Result:
    """Facts and rules into a result; a pure function of its arguments."""
    findings = evaluate(facts, rules, at, left_out, language=request.language)
    selected = select_boards(facts.boards, request.boards)
    boards = score_boards(facts, findings, rules.scoring, selected)
    host_state = readiness_of(findings.host, rules.scoring, floor=False)
    chosen = [board for board in boards if board.selected]
    scores = [board.score for board in chosen if board.score is not None]
    readiness = host_readiness(boards, host_state)
    cause = _cause(facts.boards, sources, readiness)
    if sources.unread:
        readiness = worst((readiness, "unknown"))
    return Result(
        schema=SCHEMA,
        tool_version=__version__,
        rules=RuleFiles(rules.files, rules.digest),
        started_at="",
        judged_at=_stamp(at),
        seconds=0.0,
        profile=request.profile,
        intent=intent_of(request),
        partial="; ".join((*sources.partial, *_partial(request))) or None,
        readiness=readiness,
        cause=cause,
        usable=sum(board.readiness in {"ready", "degraded"} for board in chosen),
        score=min(scores, default=None),
        coverage=min((board.coverage for board in chosen), default=round(coverage_of(findings.host), 3)),
        host=HostResult(host_state, findings.host, facts.host),
        boards=boards,
        evidence=facts.evidence,
    )


def without_facts(cause: str, request: Request, now: datetime.datetime) -> Result:
    """The result of a run that could not see anything, so that a report arrives all the same."""
    return Result(
        schema=SCHEMA,
        tool_version=__version__,
        rules=RuleFiles((), ""),
        started_at=_stamp(now),
        judged_at=_stamp(request.at or now),
        seconds=0.0,
        profile=request.profile,
        intent=intent_of(request),
        partial=None,
        readiness="unknown",
        cause=cause,
        usable=0,
        score=None,
        coverage=0.0,
        host=HostResult("unknown", (), Host()),
        boards=(),
        evidence=(),
    )


def _cause(boards: Sequence[Board], sources: Sources, readiness: Readiness) -> str | None:
    if sources.unread:
        return "; ".join(sources.unread)
    if boards:
        return None
    hung = [entry.why for entry in sources.evidence if entry.outcome in {"hung", "timed-out", "crashed", "failed"}]
    return "no board was seen" + (f": {hung[0]}" if hung else "") if readiness != "ready" else None


def _partial(request: Request) -> Iterable[str]:
    if request.only:
        yield f"only rules {', '.join(request.only)}"
    if request.skip:
        yield f"without rules {', '.join(request.skip)}"


def rule_layers(files: Iterable[str], site: Path = SITE_RULES) -> list[tuple[str, str]]:
    """The rule files as (name, text): the shipped one, those of the site in order of their names, those asked for."""
    try:
        paths = [shipped("rules.yaml"), *sorted(site.glob("*.yaml")), *(Path(name) for name in files)]
        return [(_rule_name(path), _rule_text(path)) for path in paths]
    except OSError as error:
        raise BoardopsError(f"cannot read {error.filename or 'the rules'}: {error.strerror or error}") from None


def _rule_text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise BoardopsError(f"{path} is not UTF-8 text: {error.reason} at byte {error.start}") from None


def _rule_name(path: Path) -> str:
    # The shipped file is named without its folder: a report tells nothing of where boardops lies.
    return path.name if path.parent.name in {"_data"} or path == shipped("rules.yaml") else str(path)


def read_needs(needs: Iterable[str]) -> dict[str, Value]:
    """`--need` entries as facts; what was not asked for does not apply. Raises BoardopsError."""
    values: dict[str, Value] = {
        fact: Missing("not-supported", f"no --need {key}= was given") for key, fact in NEEDS.items()
    }
    for entry in needs:
        key, equals, text = entry.partition("=")
        if key not in NEEDS or not equals:
            known = ", ".join(f"{name}=" for name in NEEDS)
            hint = nearest(key, NEEDS) if key not in NEEDS else ""
            raise BoardopsError(f"--need {entry!r}: known are {known}{hint}")
        values[NEEDS[key]] = _need(key, text)
    return values


def _need(key: str, text: str) -> Value:
    if key == "cuda":
        if not looks_like_version(text):
            raise BoardopsError(f"--need cuda={text}: a version such as 12.8 is wanted")
        return text
    if key == "free" and text.strip().isdigit():
        raise BoardopsError(f"--need free={text}: a unit is wanted, such as free={text}GiB")
    try:
        number = parse(text, "bytes" if key == "free" else "count")
    except ValueError as error:
        raise BoardopsError(f"--need {key}={text}: {error}") from None
    if number != int(number) or number < 1:
        raise BoardopsError(f"--need {key}={text}: a whole number above 0 is wanted")
    return int(number)


def _left_out(rules: RuleSet, only: Sequence[str], skip: Sequence[str]) -> dict[str, str]:
    ids = [rule.id for rule in rules.rules]
    for option, patterns in (("--only", only), ("--skip", skip)):
        for pattern in patterns:
            if not any(fnmatchcase(id, pattern) for id in ids):
                raise BoardopsError(f"{option} {pattern!r} matches no rule{nearest(pattern, ids)}")
    out: dict[str, str] = {}
    for id in ids:
        if only and not any(fnmatchcase(id, pattern) for pattern in only):
            out[id] = f"not among --only {', '.join(only)}"
        elif any(fnmatchcase(id, pattern) for pattern in skip):
            out[id] = f"among --skip {', '.join(skip)}"
    return out


def select_boards(boards: Sequence[Board], selectors: Sequence[str]) -> tuple[bool, ...]:
    """Which boards are selected: by PCI address, UUID, serial, index or vendor, with * and ?. Raises BoardopsError."""
    if not selectors:
        return (True,) * len(boards)
    names = [_names(board) for board in boards]
    for selector in selectors:
        if not any(_selects(selector, words) for words in names):
            seen = ", ".join(board_key(board) for board in boards) or "none"
            raise BoardopsError(f"--board {selector!r} matches no board; there are: {seen}")
    return tuple(any(_selects(selector, words) for selector in selectors) for words in names)


def _names(board: Board) -> tuple[str, ...]:
    values = (board.pci_address, board.uuid, board.serial, board.vendor, board.index)
    words = [str(value).lower() for value in values if not isinstance(value, Missing)]
    return (*words, *(word.removeprefix("0000:") for word in words))


def _selects(selector: str, words: Sequence[str]) -> bool:
    wanted = selector.lower()
    with contextlib.suppress(ValueError):
        wanted = pci_address(wanted)  # nvidia-smi writes eight digits of domain.
    return any(fnmatchcase(word, wanted) for word in words)


def _live(request: Request, now: Callable[[], datetime.datetime]) -> Sources:
    read_at = _stamp(now())
    found = collect(cpu=request.cpu, deadline_seconds=request.deadline_seconds, now=now, root=request.root)
    kept = dump_record(found.answers, read_at=read_at, cpu=request.cpu, intent=intent_of(request), needs=request.needs)
    return Sources(found.host, found.boards, found.evidence, found.read_from, read_at=read_at, record=kept)


def _from_record(data: bytes, name: str) -> Sources:
    record = load_record(data, name)
    found = assemble(answers_of(record, lambda cpu: known_sources(cpu=cpu), name), record.read_at)
    return Sources(
        found.host,
        found.boards,
        found.evidence,
        found.read_from,
        read_at=record.read_at,
        intent=record.intent,
        needs=record.needs,
    )


def _from_files(names: Sequence[str], deadline_seconds: float) -> Sources:
    readings: list[tuple[str, str, Reading]] = []
    broken: list[Evidence] = []
    for number, name in enumerate(names, 1):
        try:
            data = _bytes(name, deadline_seconds)
            if is_record(data):
                if len(names) > 1:
                    raise BoardopsError(f"{_shown(name)} is the record of a whole run; judge it alone")
                return _from_record(data, _shown(name))
            readings.append((f"file-{number}", _shown(name), read_file(File(_shown(name), data))))
        except EvidenceError as error:
            broken.append(failed(number, _shown(name), str(error)))
    if not readings:
        raise BoardopsError("; ".join(entry.why for entry in broken))
    joined = join(readings)
    return Sources(
        joined.host,
        joined.boards,
        (*joined.evidence, *broken),
        joined.read_from,
        partial=(f"{' and '.join(joined.titles)} only",),
        unread=tuple(entry.why for entry in broken),
        read_at=max((reading.read_at for _, _, reading in readings if reading.read_at), default=None),
    )


def _shown(name: str) -> str:
    """A file's name for people and for JSON: what is no UTF-8 in it is shown as escapes."""
    return "standard input" if name == "-" else os.fsencode(name).decode("utf-8", "backslashreplace")


def _bytes(name: str, deadline_seconds: float) -> bytes:
    """The content of a file, at most one byte more than is read of any. Raises EvidenceError.

    What feeds a pipe may never end or never come: reading is given up after the deadline.
    """
    try:
        if name == "-":
            if sys.stdin is None:
                raise EvidenceError("standard input is closed")
            return read_within(sys.stdin.fileno(), deadline_seconds, MAX_BYTES + 1)
        if not name:
            raise EvidenceError("--from wants the name of a file")
        if Path(name).is_dir():
            raise EvidenceError(f"{_shown(name)} is a folder; give the files in it")
        handle = os.open(name, os.O_RDONLY | os.O_NONBLOCK)
        try:
            return read_within(handle, deadline_seconds, MAX_BYTES + 1)
        finally:
            os.close(handle)
    except TimeoutError:
        raise EvidenceError(f"{_shown(name)} did not end within {deadline_seconds:g} s") from None
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise EvidenceError(f"cannot read {_shown(name)}: {why}") from None


def read_within(handle: int, seconds: float, limit: int) -> bytes:
    """Read a descriptor to its end, at most `limit` bytes. Raises TimeoutError."""
    end = monotonic() + seconds
    parts: list[bytes] = []
    size = 0
    while size < limit:
        if not select.select([handle], [], [], max(0.0, end - monotonic()))[0]:
            raise TimeoutError
        try:
            part = os.read(handle, min(2**20, limit - size))
        except BlockingIOError:
            continue
        if not part:
            break
        parts.append(part)
        size += len(part)
    return b"".join(parts)


def _stamp(time: datetime.datetime) -> str:
    return time.astimezone(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def _time(text: str | None) -> datetime.datetime | None:
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00")) if text else None
