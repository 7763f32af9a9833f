"""The first 256 bytes of a PCI device's configuration space, composed for `sysfs`.

Laid out after the PCI and PCI Express specifications: the common header, then a capability of power management and one
of PCI Express with the link's capability and state.
"""

from __future__ import annotations

import struct

SIZE = 256
POWER_AT = 0x60
EXPRESS_AT = 0x78
PORT_KINDS = {"endpoint": 0, "root-port": 4, "upstream": 5, "downstream": 6, "integrated": 9}
DEAD = b"\xff" * SIZE
"""What is read from a device that no longer answers."""


def config(
    ids: tuple[int, int],
    class_code: int,
    subsystem: tuple[int, int],
    kind: str,
    link: tuple[int, int, int, int] | None,
) -> bytes:
    """The space of a device that answers. `link` is the generation and width now, and those at most."""
    space = bytearray(SIZE)
    bridge = kind not in ("endpoint", "integrated")
    struct.pack_into("<HHHH", space, 0, *ids, 0x0406, 0x0010)
    struct.pack_into("<I", space, 8, class_code << 8 | 0xA1)
    space[0x0E] = 1 if bridge else 0
    if not bridge:
        struct.pack_into("<HH", space, 0x2C, *subsystem)
    space[0x34] = POWER_AT
    struct.pack_into("<BBH", space, POWER_AT, 0x01, EXPRESS_AT if link else 0, 0x0003)
    if link:
        now_generation, now_width, most_generation, most_width = link
        struct.pack_into("<BBH", space, EXPRESS_AT, 0x10, 0, 2 | PORT_KINDS[kind] << 4)
        struct.pack_into("<I", space, EXPRESS_AT + 0x0C, most_generation | most_width << 4)
        struct.pack_into("<H", space, EXPRESS_AT + 0x12, now_generation | now_width << 4)
    return bytes(space)
