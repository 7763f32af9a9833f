"""The command group, and the one place where errors become exit codes.

Exit codes: 0 ready, 1 degraded, 2 not-ready, 3 unknown, wrong usage or a fault of our own, 130 ended by a signal.
"""

from __future__ import annotations

import importlib
import os
import signal
import sys
from collections.abc import Sequence

import click

from boardops import __version__
from boardops.cli.output import give_up_standard_output, print_text
from boardops.errors import BoardopsError, OutputClosedError

UNKNOWN = 3
INTERRUPTED = 130
ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

# Each command and the module that holds it; a module is imported when its command is asked for.
COMMANDS = {
    "check": ("boardops.cli.check", "Judge this machine, or files that somebody sent."),
    "collect": ("boardops.cli.collect", "Keep the evidence of this machine, to be judged elsewhere."),
    "explain": ("boardops.cli.explain", "Tell what a rule expects and why, or what a fault code means."),
    "facts": ("boardops.cli.facts", "List the facts that rules can use."),
    "rules": ("boardops.cli.rules", "List, show and test the rules."),
}


class Lazy(click.Group):
    """A group that imports a command only when it runs it, so that --help is instant."""

    def list_commands(self, _: click.Context) -> list[str]:
        return sorted(COMMANDS)

    def get_command(self, _: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(COMMANDS[cmd_name][0])
        command: click.Command = module.command
        return command

    def format_commands(self, _: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in sorted(COMMANDS.items())])


@click.group(cls=Lazy, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="boardops", message="%(prog)s %(version)s")
@click.option("--debug", is_flag=True, help="Show the traceback of a fault of our own.")
def group(debug: bool) -> None:
    """Decide whether accelerator boards are fit for work.

    Exit codes: 0 ready, 1 degraded, 2 not-ready, 3 unknown (also wrong usage and faults of our own).
    """


def run(arguments: Sequence[str]) -> int:
    """Run a command line and give its exit code. Never raises."""
    debug = "--debug" in arguments
    try:
        _take_signals()
        code = group.main(list(arguments), prog_name="boardops", standalone_mode=False)
    except (KeyboardInterrupt, click.Abort):
        say("interrupted")
        return INTERRUPTED
    except click.exceptions.Exit as stop:
        return int(stop.exit_code)
    except click.exceptions.NoArgsIsHelpError as error:
        # A group without a command: its help is the answer, and nothing was judged.
        return _print_help(error.ctx)
    except click.ClickException as error:
        say(error.format_message())
        return UNKNOWN
    except OutputClosedError:
        return UNKNOWN
    except BoardopsError as error:
        say(str(error))
        return UNKNOWN
    except OSError as error:
        if error.filename is not None:
            say(f"cannot open {os.fsdecode(error.filename)}: {error.strerror or error}")
            return UNKNOWN
        # Only click itself prints without print_text: help and version.
        say(f"cannot write standard output: {error.strerror or error}")
        give_up_standard_output()
        return UNKNOWN
    except Exception as error:  # noqa: BLE001 - the one place that catches what nobody expected
        if debug:
            import traceback

            traceback.print_exc()
        say(f"a fault of boardops itself: {type(error).__name__}: {error}; --debug shows where")
        return UNKNOWN
    return code if isinstance(code, int) else 0


def _print_help(context: click.Context | None) -> int:
    try:
        if context is not None:
            print_text(context.get_help() + "\n")
    except BoardopsError as error:
        say(str(error))
    return UNKNOWN


def _take_signals() -> None:
    """Children's exit codes are ours even where our parent ignores them, and who ends us does it as Ctrl-C does.

    A terminal that is closed ends us too, unless we were started to outlive it (nohup).
    """
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
        signal.signal(signal.SIGHUP, signal.default_int_handler)


def ignore_signals() -> None:
    """From now on nobody ends us but ourselves; it will not be long."""
    for number in ENDING:
        signal.signal(number, signal.SIG_IGN)


def say(message: str) -> None:
    """One line on standard error. Control characters of whatever is quoted in it are shown, not sent."""
    line = " ".join(message.split())
    shown = "".join(char if char.isprintable() else f"\\x{ord(char):02x}" for char in line)
    try:
        print(f"boardops: {shown}", file=sys.stderr, flush=True)
    except (OSError, ValueError, UnicodeEncodeError):
        return
