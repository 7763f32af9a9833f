"""Coverage-guided fuzzing of all readers: `python -m tests.fuzz.with_atheris NAME [-max_total_time=300]`.

A program for who has the time; it needs atheris (PyPI), which is no dependency. NAME is one of test_readers.READERS.
"""

from __future__ import annotations

import sys
from typing import Any


def main() -> None:
    import atheris

    with atheris.instrument_imports(include=["boardops"]):
        from boardops.errors import BoardopsError
        from tests.fuzz.test_readers import READERS

    read, _ = READERS[sys.argv.pop(1)]

    def one(data: bytes) -> Any:
        try:
            read(data)
        except BoardopsError as error:
            assert "\n" not in str(error)

    atheris.Setup(sys.argv, one)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
