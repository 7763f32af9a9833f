"""Where the boards of a stand-in machine sit. All stand-ins use the same addresses, so that they fit together."""

BUSES = (0x18, 0x2A, 0x3A, 0x5D, 0x9A, 0xAB, 0xBA, 0xDB)


def pci_address(number: int) -> str:
    """The PCI address of a board as the project writes it: eight boards, then eight in the next domain."""
    domain, place = divmod(number, len(BUSES))
    return f"{domain:04x}:{BUSES[place]:02x}:00.0"
