"""Where the shipped data is: rules.yaml, templates/ and checks/.

In an installed package they lie in `_data` beside this file; in a checkout or an editable install, one level up.
"""

from __future__ import annotations

from pathlib import Path


def shipped(name: str) -> Path:
    """The path of a shipped file or folder, such as `rules.yaml`.

    Raises FileNotFoundError where the installation lacks it.
    """
    here = Path(__file__).resolve().parent
    for folder in (here / "_data", here.parent):
        path = folder / name
        if path.exists():
            return path
    raise FileNotFoundError(f"this installation of boardops lacks {name}; install it again")
