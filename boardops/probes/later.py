"""Put off an import that another module asks for and does not need at once."""

from __future__ import annotations

import importlib
import sys
from types import ModuleType

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def import_later(module: str, function: str) -> None:
    """Let `from module import function` give a function that imports the module when it is called."""
    if module in sys.modules:
        return
    later = ModuleType(module)

    def call(*words: Any) -> Any:
        if sys.modules.get(module) is later:
            del sys.modules[module]
        return getattr(importlib.import_module(module), function)(*words)

    setattr(later, function, call)
    sys.modules[module] = later
