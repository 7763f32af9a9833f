"""What the words of a request stand for: needs, patterns of rules, selectors of boards.

Pure functions; called by run.py.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase

from boardops.errors import BoardopsError
from boardops.facts import Board, Missing, Value, board_key, elsewhere
from boardops.quantities import parse
from boardops.readers.addresses import pci_address
from boardops.rule import RuleSet
from boardops.versions import looks_like_version
from boardops.yamlfile import nearest, short

NEEDS: Mapping[str, str] = {"boards": "need.board_count", "free": "need.free_bytes", "cuda": "need.cuda_version"}

MOST_CHARACTERS = 200
"""Of a pattern."""


def read_needs(needs: Iterable[str]) -> dict[str, Value]:
    """`--need` entries as facts; what was not asked for does not apply. Raises BoardopsError."""
    values: dict[str, Value] = {
        fact: Missing("not-supported", f"no --need {key}= was given") for key, fact in NEEDS.items()
    }
    for entry in needs:
        key, equals, text = entry.partition("=")
        if key not in NEEDS or not equals:
            known = ", ".join(f"{name}=" for name in NEEDS)
            hint = nearest(key[:MOST_CHARACTERS], NEEDS) if key not in NEEDS else ""
            raise BoardopsError(f"--need {short(entry)}: known are {known}{hint}")
        values[NEEDS[key]] = _need(key, text)
    return values


def _need(key: str, text: str) -> Value:
    if key == "cuda":
        if not looks_like_version(text):
            raise BoardopsError(f"--need cuda={_cut(text)}: a version such as 12.8 is wanted")
        return text
    if key == "free" and text.strip().isdigit():
        raise BoardopsError(f"--need free={_cut(text)}: a unit is wanted, such as free={_cut(text).strip()}GiB")
    try:
        number = parse(text, "bytes" if key == "free" else "count")
    except ValueError as error:
        raise BoardopsError(f"--need {key}={_cut(text)}: {error}") from None
    if number != int(number) or number < 1:
        raise BoardopsError(f"--need {key}={_cut(text)}: a whole number above 0 is wanted")
    return int(number)


def _cut(text: str) -> str:
    """A word as it was written, on one line and short enough for a sentence."""
    return short(text)[1:-1]


def _check_length(option: str, pattern: str) -> None:
    """Python takes minutes to read a pattern of a hundred thousand brackets."""
    if len(pattern) > MOST_CHARACTERS:
        raise BoardopsError(f"{option} {short(pattern)} is longer than {MOST_CHARACTERS} characters")


def left_out_by(rules: RuleSet, only: Sequence[str], skip: Sequence[str]) -> dict[str, str]:
    """The rules that `--only` and `--skip` leave out, and why. Raises BoardopsError for one that matches none."""
    ids = [rule.id for rule in rules.rules]
    for option, patterns in (("--only", only), ("--skip", skip)):
        for pattern in patterns:
            _check_length(option, pattern)
            if not any(fnmatchcase(id, pattern) for id in ids):
                raise BoardopsError(f"{option} {short(pattern)} matches no rule{nearest(pattern, ids)}")
    out: dict[str, str] = {}
    for id in ids:
        if only and not any(fnmatchcase(id, pattern) for pattern in only):
            out[id] = f"not among --only {', '.join(only)}"
        elif any(fnmatchcase(id, pattern) for pattern in skip):
            out[id] = f"among --skip {', '.join(skip)}"
    return out


def select_boards(boards: Sequence[Board], selectors: Sequence[str]) -> tuple[bool, ...]:
    """Which boards are selected: by PCI address, UUID, serial, index or vendor, with * and ?. Raises BoardopsError.

    Without a selector all that are ours to use.
    """
    if not selectors:
        return tuple(elsewhere(board) is None for board in boards)
    names = [_names(board) for board in boards]
    for selector in selectors:
        _check_length("--board", selector)
        if not any(_selects(selector, words) for words in names):
            seen = ", ".join(board_key(board) for board in boards) or "none"
            raise BoardopsError(f"--board {short(selector)} matches no board; there are: {seen}")
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
