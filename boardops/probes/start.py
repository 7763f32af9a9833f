"""Start one probe in this process: `python -I -S start.py NAME [--path FOLDER] [--alarm SECONDS] [WORDS]`.

`-I` and `-S` keep the working folder, the environment and site-packages off the module path; FOLDER is where the
vendor's Python library lies. The probe is imported and not run as a script, since Python keeps the compiled form of
modules only. collect.py starts this.

After SECONDS the kernel ends it, whatever it waits for: where nobody is left to do that, hung probes of every night
would pile up.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # `signal` itself costs a twentieth of a probe's time.
import sys


def main() -> None:
    """Run the probe that the command line names."""
    name, *words = sys.argv[1:]
    package = __file__.rpartition("/boardops/probes/")[0]
    # Behind the standard library, so that nothing beside us can stand in for a part of it.
    sys.path += [package or "/"]
    if "--alarm" in words:
        _signal.signal(_signal.SIGALRM, _signal.SIG_DFL)
        _signal.alarm(int(words[words.index("--alarm") + 1]))
    if "--path" in words:
        sys.path.append(words[words.index("--path") + 1])
    module = __import__(f"boardops.probes.{name}", fromlist=["main"])
    module.main(words)


if __name__ == "__main__":
    main()
