"""Where the shipped data is: rules.yaml, templates/ and checks/.

In an installed package they lie in `_data` beside this file; in a checkout or an editable install, one level up.
"""

from __future__ import annotations

import os


def shipped(name: str) -> str:
    """The path of a shipped file or folder, such as `rules.yaml`.

    Raises FileNotFoundError where the installation lacks it.
    """
    here = os.path.dirname(os.path.realpath(__file__))
    for folder in (f"{here}/_data", os.path.dirname(here)):
        path = f"{folder}/{name}"
        if os.path.exists(path):
            return path
    raise FileNotFoundError(f"this installation of boardops lacks {name}; install it again")
