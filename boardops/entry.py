"""The entry point. Tiny on purpose: whatever is broken in this installation ends in exit code 3, never in 1.

A Python traceback ends in 1, which callers would read as "degraded".
"""

from __future__ import annotations

import gc
import sys


def main() -> None:
    """Run the command line and exit with its code."""
    # A short run makes no garbage that is worth collecting; looking for it costs a tenth of the run.
    gc.disable()
    try:
        code = _run()
    except KeyboardInterrupt:
        code = 130
    gc.freeze()
    sys.exit(code)


def _run() -> int:
    try:
        from boardops.cli.main import ignore_signals, run
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # noqa: BLE001 - a broken installation may raise anything
        what = " ".join(f"{type(error).__name__}: {error}".split())
        print(f"boardops: this installation is broken ({what}); install it again", file=sys.stderr)
        return 3
    code = run(sys.argv[1:])
    # The report is out; a signal that comes now must not turn its exit code into another.
    ignore_signals()
    return code


if __name__ == "__main__":
    main()
