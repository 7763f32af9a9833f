"""Which messages of a kernel log tell of a fault, and of which.

Called by kernel_log.py with messages without their time stamps. What a fault means is the catalog's business. Sources
of the forms: NVIDIA's open kernel module, Linux (drivers/pci/pcie/aer.c, drivers/pci/pci.c, mm/oom_kill.c, mce), logs
in public issue threads.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from boardops.facts import Fault, FaultKind
from boardops.readers.addresses import pci_address

MAX_DETAIL = 200
MAX_RAW = 300
_ADDRESS = r"(?P<address>(?:[0-9a-fA-F]{4,8}:)?[0-9a-fA-F]{2}:[0-9a-fA-F]{2}(?:\.[0-7])?)"
_XID = re.compile(
    r"NVRM: (?:GPU at \S{1,60} )?Xid \((?:PCI:)?" + _ADDRESS + r"(?: (?P<instance>GPU-I:\w{1,4}))?[^)]{0,40}\):\s{0,2}"
    r"(?P<code>\w{1,10})\b,?\s?(?P<rest>.*)"
)
_XID_WITHOUT = re.compile(r"NVRM: Xid:?\s{1,2}(?P<code>\d{1,5})\b,?\s?(?P<rest>.*)")
_XID_OF_PLUGIN = re.compile(r"Xid=(?P<code>\d{1,5}) on Device=(?P<uuid>GPU-[0-9a-fA-F-]{36})")
"""How NVIDIA's device plugin for Kubernetes writes it."""
_PROCESS = re.compile(r"^(?:pid=(?:'[^']{0,80}'|[^,]{0,80}),\s{0,2})?(?:name=(?:'[^']{0,80}'|[^,]{0,200}),\s{0,2})?")
_SXID = re.compile(r"SXid \((?:PCI:)?" + _ADDRESS + r"[^)]{0,40}\):\s{0,2}(?P<code>\w{1,10})\b,?\s?(?P<rest>.*)")
_CONTINUES = re.compile(r"^(?:Data \{0x|Severity \d{1,3} Engine)")
_FATAL = re.compile(r"^(?P<word>Fatal|Non-?fatal|Corrected)\b", re.IGNORECASE)
_LINK_EVENT = re.compile(
    r"^(?P<unit>[A-Z][A-Z0-9_]{1,40})\s{1,4}(?P<word>Fatal|Nonfatal)\s{1,6}(?P<rest>XC\d.{0,150})", re.IGNORECASE
)
_RECOVERY = re.compile(r"recovery action changed from .{1,60}? to (?P<to>.{1,60})", re.IGNORECASE)
_CAUSE = re.compile(r"caused by previous Xid:? ?\d{1,5}", re.IGNORECASE)
_AER = re.compile(r"PCIe Bus Error: severity=(?P<word>Corrected|Uncorrected \((?:Non-Fatal|Fatal)\))", re.IGNORECASE)
_AER_WORDS = {"corrected": "corrected", "uncorrected (non-fatal)": "nonfatal", "uncorrected (fatal)": "fatal"}
_BANDWIDTH = re.compile(_ADDRESS + r": (?P<rest>[\d.]{1,12} Gb/s available PCIe bandwidth, limited by .{1,120})")
_OF = re.compile(r"\b" + _ADDRESS)
_CORRECTED = re.compile(r"\bcorrected\b|Corrected error|\bCE\b", re.IGNORECASE)
NVLINK5 = frozenset(map(str, range(144, 151)))


def fault_of(message: str) -> Fault | None:
    """The fault that a message tells of, without its time; None for a message that tells of none, or of its details.

    >>> fault = fault_of("NVRM: Xid (PCI:0000:38:00): 13, pid=7, name=python, Graphics Exception")
    >>> fault.kind, fault.code, fault.pci_address
    ('xid', '13', '0000:38:00.0')
    """
    for word, read in _READERS:
        if word in message:
            found = read(message)
            if found is not None:
                return found
    return None


def continues(message: str) -> tuple[str, str] | None:
    """Address and code of the switch's fault that a line only describes further; None for any other line."""
    match = _SXID.search(message)
    if match and _CONTINUES.match(match["rest"]):
        return _slot(match["address"]), match["code"]
    return None


def _fault(kind: FaultKind, code: str, message: str, address: str | None = None, detail: str = "") -> Fault:
    return Fault(kind, code, _slot(address) if address else None, detail=detail[:MAX_DETAIL], raw=message[:MAX_RAW])


def _slot(address: str) -> str:
    """The address with domain and function."""
    whole = address if address.count(":") == 2 else f"0000:{address}"
    return pci_address(whole if "." in whole else f"{whole}.0")


def _xid(message: str) -> Fault | None:
    match = _XID.search(message) or _XID_WITHOUT.search(message)
    if match is None:
        plugin = _XID_OF_PLUGIN.search(message)
        return _fault("xid", plugin["code"], message, detail=plugin["uuid"]) if plugin else None
    rest = match["rest"].strip()
    told = _PROCESS.sub("", rest, count=1)
    parts = [_xid_detail(match["code"], told, rest)]
    groups = match.groupdict()
    if groups.get("instance"):
        parts.append(groups["instance"])
    return _fault("xid", match["code"], message, groups.get("address"), ", ".join(filter(None, parts)))


def _xid_detail(code: str, told: str, rest: str) -> str:
    """What the line adds to the code; free text of errors of programs is not, it differs from line to line."""
    if code in NVLINK5:
        event = _LINK_EVENT.search(told)
        return f"{event['unit']} {event['word']} {' '.join(event['rest'].split())}" if event else told
    if code == "154":
        recovery = _RECOVERY.search(rest)
        return f"recovery action changed to {recovery['to'].strip()}" if recovery else told
    cause = _CAUSE.search(rest)
    return cause[0] if cause else ""


def _sxid(message: str) -> Fault | None:
    match = _SXID.search(message)
    if match is None:
        return None
    word = _FATAL.match(match["rest"])
    link = re.search(r"\bLink \d{1,3}\b", match["rest"])
    detail = ", ".join(filter(None, [word["word"] if word else "", link[0] if link else ""]))
    return _fault("sxid", match["code"], message, match["address"], detail)


def _aer(message: str) -> Fault | None:
    match = _AER.search(message)
    if match is None:
        return None
    address = _OF.search(message[: match.start()])
    return _fault("aer", _AER_WORDS[match["word"].lower()], message, address["address"] if address else None)


def _named(code: str, *words: str) -> Callable[[str], Fault | None]:
    """A message of the kernel that holds all of some words, and may hold the address of a board."""

    def read(message: str) -> Fault | None:
        if not all(word in message for word in words):
            return None
        address = _OF.search(message)
        return _fault("kernel", code, message, address["address"] if address else None)

    return read


def _bandwidth(message: str) -> Fault | None:
    match = _BANDWIDTH.search(message)
    return _fault("kernel", "bandwidth-limited", message, match["address"], match["rest"]) if match else None


def _machine_check(message: str) -> Fault | None:
    if "EDAC" in message and not re.search(r"\b(?:CE|UE)\b|[Ee]rror", message):
        return None  # A driver that was loaded.
    word = "corrected" if _CORRECTED.search(message) else "uncorrected" if "ncorrect" in message else ""
    return _fault("kernel", "machine-check", message, None, word)


def _out_of_memory(message: str) -> Fault | None:
    """The line that names the victim; those before it only say why."""
    if not re.search(r"ut of memory.{0,40}Kill", message):
        return None
    return _fault("kernel", "out-of-memory", message, None, "memory cgroup" if "cgroup" in message else "")


_READERS: tuple[tuple[str, Callable[[str], Fault | None]], ...] = (
    ("SXid", _sxid),
    ("Xid", _xid),
    ("off the bus", _named("off-the-bus", "off the bus")),
    ("RmInitAdapter failed", _named("adapter-init-failed", "RmInitAdapter failed")),
    ("rm_init_adapter failed", _named("adapter-init-failed", "rm_init_adapter failed")),
    ("No firmware image found", _named("no-firmware", "No firmware image found")),
    ("API mismatch", _named("version-mismatch", "API mismatch")),
    ("loading NVIDIA UNIX", _named("driver-loaded", "NVRM:", "loading NVIDIA UNIX")),
    ("PCIe Bus Error", _aer),
    ("available PCIe bandwidth", _bandwidth),
    ("ut of memory", _out_of_memory),
    ("Machine check events logged", _machine_check),
    ("[Hardware Error]", _machine_check),
    ("EDAC", _machine_check),
    ("invalid context", _named("peermem-invalid-context", "nvidia-peermem", "invalid context")),
    ("nouveau", _named("nouveau", "nouveau", "rror")),
)
WORDS: tuple[bytes, ...] = tuple(dict.fromkeys(word.encode() for word, _ in _READERS if word != "SXid"))
"""What a line must hold one of to tell of a fault."""
