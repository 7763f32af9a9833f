"""PCI addresses, as this project writes them."""

from __future__ import annotations

import re

_ADDRESS = r"^([0-9a-fA-F]{1,8}):([0-9a-fA-F]{1,2}):([0-9a-fA-F]{1,2})\.([0-7])$"


def pci_address(text: str) -> str:
    """A PCI address as this project writes it. Raises ValueError.

    >>> pci_address("00000000:3B:00.0"), pci_address("00010000:01:00.0")
    ('0000:3b:00.0', '00010000:01:00.0')
    """
    match = re.match(_ADDRESS, text.strip())
    if not match:
        raise ValueError(f"{text[:40]!r} is not a PCI address")
    domain, bus, device = (int(part, 16) for part in match.groups()[:3])
    width = 8 if domain > 0xFFFF else 4
    return f"{domain:0{width}x}:{bus:02x}:{device:02x}.{match[4]}"
