"""What the line of a fault says beside its code: fatal or not, which recovery, which link.

Called by faults.py, nvlink5.py and chains.py. Lines come from machines and are hostile: only their first characters
are read, name and number of the process that they mention are not, and no pattern here can run away. Knows no code's
meaning.
"""

from __future__ import annotations

import re
from typing import Literal

from boardops.facts import Fault

LIMIT = 1000
"""Characters of a line that are read."""
Word = Literal["fatal", "nonfatal", "corrected"]

_PROCESS = re.compile(r"\bpid=[^,]{0,40},|\bname=[^,]{0,80},")
_WORD = re.compile(r"[a-z]+(?:-[a-z]+)?")
_LINK = re.compile(r"\blink ?(-?\d{1,4})\b", re.IGNORECASE)
_CAUSE = re.compile(r"caused by previous Xid:? ?(\d{1,5})\b", re.IGNORECASE)
_RECOVERIES = {
    0: "none",
    1: "reset",
    2: "reboot",
    3: "drain",
    4: "drain-and-reset",
    5: "recover-domain",
    6: "reset",
    7: "reboot",
}
"""The numbers of nvmlDeviceGpuRecoveryAction_t."""
_CONTINUES = re.compile(r"\bData \{0x|\bSeverity \d{1,3} Engine")
_TO = re.compile(r"\bto\b|->|=>|\N{RIGHTWARDS ARROW}")
_NUMBER = re.compile(r"0x([0-9a-f]{1,8})\b")


def told(fault: Fault) -> str:
    """What the line says, without the process that it names."""
    return _PROCESS.sub(" ", f"{fault.detail[:LIMIT]} {fault.raw[:LIMIT]}")


def word_of(text: str) -> Word | None:
    """Fatal, not fatal, or corrected, by the first such word of a text; None where it has none.

    >>> word_of("Non-fatal, Link 32 egress non-posted PRIV error"), word_of("RLW Fatal"), word_of("Link 62")
    ('nonfatal', 'fatal', None)
    >>> word_of("severity=Uncorrected (Non-Fatal)"), word_of("severity=Corrected"), word_of("NonFatalErr")
    ('nonfatal', 'corrected', None)
    """
    words = _WORD.findall(text[: 2 * LIMIT].lower())
    uncorrected = False
    for before, word in zip(["", *words], words, strict=False):
        if word in {"nonfatal", "non-fatal"} or (before, word) == ("non", "fatal"):
            return "nonfatal"
        if word == "fatal":
            return "fatal"
        if word in {"corrected", "correctable"}:
            return "corrected"
        uncorrected = uncorrected or word in {"uncorrected", "uncorrectable"}
    return "nonfatal" if uncorrected else None


def spoken(fault: Fault) -> Word | None:
    """The word of a fault's line, what its reader took out of it first."""
    return word_of(_PROCESS.sub(" ", fault.detail[:LIMIT])) or word_of(_PROCESS.sub(" ", fault.raw[:LIMIT]))


def continues(fault: Fault) -> bool:
    """Whether the line only adds numbers to a line before it, as those of SXids do."""
    return _CONTINUES.search(told(fault)) is not None


def link_of(fault: Fault) -> str | None:
    """The number of the link that the line names; -1 stands for none.

    >>> link_of(Fault("xid", "149", detail="NETIR_LINK_EVT Fatal XC0 i0 Link 01"))
    '1'
    """
    found = _LINK.search(told(fault))
    return str(int(found[1])) if found and int(found[1]) >= 0 else None


def named_cause(fault: Fault) -> str | None:
    """The Xid by which the line itself explains itself, such as `xid:149`."""
    found = _CAUSE.search(told(fault))
    return f"xid:{int(found[1])}" if found else None


def recovery_of(fault: Fault) -> str | None:
    """What the driver asks for in the line of a Xid 154: the new value, `other` where its number is not known.

    None where the line cannot be read. The number decides; words (`GPU Reset Required`, `OS Reboot`, `PF FLR`) only
    where it is missing.

    >>> recovery_of(Fault("xid", "154", raw="GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset Required)"))
    'reset'
    """
    for text in (fault.detail, fault.raw):
        old, *news = _TO.split(_PROCESS.sub(" ", text[:LIMIT]).lower())
        # A line that was cut after the old value says nothing of the new one.
        new = news[-1] if news else "" if "from" in old else old
        number = _NUMBER.search(new)
        if number:
            return _RECOVERIES.get(int(number[1], 16), "other")
        word = _recovery_word(set(_WORD.findall(new)))
        if word:
            return word
    return None


def _recovery_word(words: set[str]) -> str | None:
    if "drain-and-reset" in words or {"drain", "reset"} <= words:
        return "drain-and-reset"
    for word, recovery in (
        ("drain", "drain"),
        ("imex", "recover-domain"),
        ("reboot", "reboot"),
        ("reset", "reset"),
        ("flr", "reset"),
        ("none", "none"),
    ):
        if word in words:
            return recovery
    return None
