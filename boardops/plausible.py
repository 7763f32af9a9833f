"""Numbers that cannot be: vendor libraries and sensors give them for "not measured", whatever their manuals say.

Called by derive.py for every fact of a board, whoever read it. The bounds only part the possible from the impossible;
what is good or bad is the rules' business.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping

from boardops.facts import Missing, Value, known
from boardops.readers.novalue import is_sentinel

Bounds = tuple[float, float]

# Source of all: our choice, far outside of what any board of the catalog can have.
BY_UNIT: Mapping[str, Bounds] = {
    "bytes": (0, 2.0**50),
    "watts": (0, 100_000),
    "hertz": (0, 1e11),
    "lanes": (0, 32),
    "generation": (0, 10),
    "ratio": (0, 1),
    "count": (0, 2.0**62),
}
CHIP: Bounds = (0.1, 200)
"""Temperatures of a board that runs, and its limits, in celsius; a limit of 0 is none."""
BY_NAME: Mapping[str, Bounds] = {
    "temperature.core_celsius": CHIP,
    "temperature.memory_celsius": CHIP,
    "temperature.slowdown_celsius": CHIP,
    "temperature.shutdown_celsius": CHIP,
    "temperature.memory_max_celsius": CHIP,
    "temperature.margin_celsius": (-200, 200),
    "temperature.slowdown_margin_celsius": (-200, 200),
    # Fans may turn faster than their nominal speed.
    "fan_ratio": (0, 2.5),
    "memory.used_ratio": (0, 2),
}


def plausible(name: str, value: Value) -> Value:
    """The value of the fact `name` of a board, or that it is unreadable.

    >>> plausible("temperature.core_celsius", 34.0), plausible("pcie.link_width_lanes", 0xFFFFFFFF).kind
    (34.0, 'unreadable')
    """
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return value
    bounds = _bounds().get(name)
    if bounds is None or (bounds[0] <= value <= bounds[1] and not is_sentinel(value)):
        return value
    return Missing("unreadable", f"given as {value:.15g}, which cannot be")


@functools.cache
def _bounds() -> Mapping[str, Bounds]:
    found: dict[str, Bounds] = {}
    for full, fact in known().items():
        subject, _, name = full.partition(".")
        if subject == "board" and fact.kind == "number" and not name.startswith("spec."):
            bounds = BY_NAME.get(name) or BY_UNIT.get(fact.unit)
            if bounds:
                found[name] = bounds
    return found
