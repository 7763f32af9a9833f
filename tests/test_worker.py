"""The worker against real programs that end, fail, crash, stay, fork and print without end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from boardops.worker import Outcome, Program, Running, python_program, run, run_all
from tests.probes import program
from tests.standin.nvml import Nvml

ROOT = Path(__file__).resolve().parent.parent
SLACK_SECONDS = 20
"""Deadlines are short here, machines are slow: nothing below this is asserted of time."""


def with_worker(code: str) -> list[str]:
    """The argv of Python code that uses the worker, with every warning an error."""
    lines = ["import sys", f"sys.path.insert(0, {str(ROOT)!r})", "from boardops.worker import *", textwrap.dedent(code)]
    return [sys.executable, "-W", "error", "-c", "\n".join(lines)]


def python(code: str) -> subprocess.CompletedProcess[str]:
    """Run Python code that uses the worker, in a process of its own."""
    argv = with_worker(code)
    return subprocess.run(argv, capture_output=True, text=True, timeout=2 * SLACK_SECONDS, check=False)


def is_alive(pid: int) -> bool:
    """Whether a process runs; one that has ended and was not reaped does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def wait_until_gone(pid: int) -> bool:
    deadline = time.monotonic() + SLACK_SECONDS
    while is_alive(pid) and time.monotonic() < deadline:
        time.sleep(0.01)
    return not is_alive(pid)


@pytest.mark.parametrize(
    ("script", "kind", "returncode", "number", "why"),
    [
        ("echo out; echo err >&2", "ok", 0, None, ""),
        ("echo out; echo err >&2; exit 3", "failed", 3, None, "sh ended with exit code 3; its last words: err"),
        ("echo out; exit 3", "failed", 3, None, "sh ended with exit code 3"),
        ("echo out; kill -SEGV $$", "crashed", -11, 11, "sh was ended by SIGSEGV"),
        ("echo out; kill -40 $$", "crashed", -40, 40, "sh was ended by signal 40"),
        ("echo out; sleep 60", "timed-out", -9, 9, "sh did not end within 0.3 s and was killed"),
        ("trap '' TERM INT HUP; echo out; while :; do sleep 60; done", "timed-out", -9, 9, None),
        ("echo out; kill -STOP $$", "timed-out", -9, 9, None),
        ("setsid sleep 1 & echo out", "ok", 0, None, ""),
    ],
)
def test_how_a_program_ends(script: str, kind: str, returncode: int, number: int | None, why: str | None) -> None:
    outcome = run(["sh", "-c", script], 0.3 if kind == "timed-out" else SLACK_SECONDS)
    assert (outcome.kind, outcome.returncode, outcome.signal, outcome.stdout) == (kind, returncode, number, b"out\n")
    assert outcome.seconds < SLACK_SECONDS
    assert outcome.pid is not None
    assert not is_alive(outcome.pid)
    if why is not None:
        assert outcome.why == why


def test_output_is_kept_without_a_line_end() -> None:
    assert run(["sh", "-c", "printf half; sleep 60"], 0.3).stdout == b"half"


@pytest.mark.parametrize("name", ["no-such-program", "/no/such/program", "/etc/passwd/program", ""])
def test_a_program_that_is_not_there(name: str) -> None:
    outcome = run([name], 1)
    assert (outcome.kind, outcome.why, outcome.pid) == ("not-installed", f"there is no program {name!r}", None)


def test_a_folder_of_path_that_is_no_folder_of_ours_hides_no_absence(tmp_path: Path) -> None:
    (tmp_path / "here").mkdir()
    (tmp_path / "here" / "tool").mkdir()  # exec says `Permission denied` of a folder.
    outcome = run(["tool"], 1, env={"PATH": str(tmp_path / "here")})
    assert (outcome.kind, outcome.why) == ("not-installed", "there is no program 'tool'")


def test_a_file_that_cannot_be_run(tmp_path: Path) -> None:
    text, lost, odd = tmp_path / "text", tmp_path / "lost", tmp_path / "odd"
    text.write_text("hello")
    lost.write_text("#!/no/such/interpreter\n")
    lost.chmod(0o755)
    odd.write_bytes(b"\0\1\2")
    odd.chmod(0o755)
    kinds = [(outcome.kind, outcome.why) for outcome in (run([str(path)], 1) for path in (text, tmp_path, lost, odd))]
    assert kinds == [
        ("not-permitted", f"{text} may not be run: Permission denied"),
        ("not-permitted", f"{tmp_path} may not be run: Permission denied"),
        ("not-installed", f"the interpreter that {lost} names does not exist"),
        ("failed", f"{odd} could not be started: Exec format error"),
    ]


@pytest.mark.parametrize("script", ["sleep 60 & echo $!", "sleep 60 & echo $!; wait"])
def test_what_a_program_leaves_behind_neither_holds_us_nor_stays(script: str) -> None:
    outcome = run(["sh", "-c", script], 0.3 if "wait" in script else SLACK_SECONDS)
    assert outcome.kind == ("timed-out" if "wait" in script else "ok")
    assert wait_until_gone(int(outcome.stdout))


@pytest.mark.parametrize("script", ["exec yes", "exec yes >&2", "head -c 200000 /dev/zero"])
def test_a_program_that_prints_too_much_is_cut_off(script: str) -> None:
    outcome = run(["sh", "-c", script], SLACK_SECONDS, max_output_bytes=100_000, name="the loud one")
    assert outcome.kind == "too-much-output"
    assert outcome.why == "the loud one printed more than 100000 bytes and was cut off"
    assert max(len(outcome.stdout), len(outcome.stderr)) <= 100_000


def test_of_errors_the_last_are_kept() -> None:
    code = "import sys; sys.stderr.write('x' * 100_000 + '\\nthe end\\n'); sys.exit(1)"
    outcome = run([sys.executable, "-c", code], SLACK_SECONDS)
    assert outcome.stderr.endswith(b"xx\nthe end\n")
    assert len(outcome.stderr) == 65536
    assert outcome.why.endswith("its last words: the end")


def test_a_program_runs_in_a_session_of_its_own_without_input_at_the_root() -> None:
    code = (
        "import os, sys; print(os.getsid(0) == os.getpid(), repr(sys.stdin.read()), os.getcwd(), os.environ.get('A'))"
    )
    outcome = run([sys.executable, "-c", code], SLACK_SECONDS, env={"A": "b"})
    assert outcome.stdout == b"True '' / b\n"


def test_programs_run_side_by_side_and_keep_their_order() -> None:
    scripts = ["sleep 60", "echo 1", "exit 7", "sleep 60", "kill -9 $$"]
    begin = time.monotonic()
    outcomes = run_all([*[Program(["sh", "-c", s], 0.5) for s in scripts], Program(["no-such-program"], 1)])
    assert [o.kind for o in outcomes] == ["timed-out", "ok", "failed", "timed-out", "crashed", "not-installed"]
    assert time.monotonic() - begin < SLACK_SECONDS
    assert run_all([]) == ()


# A program that SIGKILL does not end.


def test_a_program_that_no_kill_reaches_is_let_go() -> None:
    outcome = run(["sleep", "60"], 0.1, kill=lambda _pid, _signal: None, grace_seconds=0.1)
    assert outcome.pid is not None
    try:
        assert (outcome.kind, outcome.returncode, outcome.state) == ("hung", None, "S")
        assert outcome.seconds < SLACK_SECONDS
        assert outcome.why.startswith(
            "sleep did not end within 0.1 s and was killed, but the kernel still keeps it in state S"
        )
    finally:
        os.kill(outcome.pid, signal.SIGKILL)
        os.waitpid(outcome.pid, 0)


def test_a_program_that_waits_where_no_signal_reaches_it_is_let_go_soon() -> None:
    # After vfork the parent waits in state D until its child ends or runs another program, which it does not.
    code = "import ctypes; libc = ctypes.CDLL(None); libc.vfork() or libc.pause()"
    outcome = run([sys.executable, "-c", code], 1.5, kill=lambda _pid, _signal: None, grace_seconds=SLACK_SECONDS)
    assert outcome.pid is not None
    os.killpg(outcome.pid, signal.SIGKILL)
    os.waitpid(outcome.pid, 0)
    assert (outcome.kind, outcome.state) == ("hung", "D")
    assert outcome.seconds < SLACK_SECONDS
    assert outcome.why.endswith("nothing wakes it, as a rule only a reboot does")


def test_a_helper_that_no_kill_reaches_is_let_go_though_its_parent_is_gone() -> None:
    def kill_only_the_parent(pid: int, number: int) -> None:
        os.kill(pid, number)

    outcome = run(["sh", "-c", "sleep 60 & echo $!; wait"], 0.3, kill=kill_only_the_parent, grace_seconds=0.3)
    os.kill(int(outcome.stdout), signal.SIGKILL)
    assert (outcome.kind, outcome.state) == ("hung", "S")


# The first process of a PID namespace does not end before all others in it were reaped: a child that SIGKILL cannot
# end, without a broken driver.
UNKILLABLE = """
    import ctypes, os, signal, subprocess
    libc = ctypes.CDLL(None)
    NEWPID, NEWUSER = 0x20000000, 0x10000000
    if libc.unshare(NEWPID) and libc.unshare(NEWPID | NEWUSER):
        sys.exit(77)
    kids = []
    signal.signal(signal.SIGALRM, lambda *_: kids.append(subprocess.Popen(["sleep", "60"])))
    signal.setitimer(signal.ITIMER_REAL, 0.2)
    outcome = run(["sleep", "60"], 0.6, grace_seconds=0.5)
    print(outcome.kind, outcome.state, outcome.wait_channel, os.path.exists(f"/proc/{outcome.pid}"))
    del outcome
    kids[0].wait()
"""


def test_a_program_that_the_kernel_does_not_end_is_let_go() -> None:
    done = python(UNKILLABLE)
    if done.returncode == 77:
        pytest.skip("this machine does not allow a PID namespace")
    assert (done.returncode, done.stderr) == (0, "")
    kind, state, channel, exists = done.stdout.split()
    assert (kind, state, exists) == ("hung", "S", "True")
    assert channel in {"zap_pid_ns_processes", "None"}


# Around the worker.


def test_ctrl_c_kills_the_program_and_flies_on(tmp_path: Path) -> None:
    code = """
        try:
            run(["sh", "-c", f"echo $$ > {sys.argv[1]}.new; mv {sys.argv[1]}.new {sys.argv[1]}; exec sleep 60"], 60)
        except KeyboardInterrupt:
            print("interrupted")
    """
    pid_file = tmp_path / "pid"
    with subprocess.Popen([*with_worker(code), str(pid_file)], stdout=subprocess.PIPE, text=True) as process:
        deadline = time.monotonic() + SLACK_SECONDS
        while not pid_file.exists() and time.monotonic() < deadline:
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=SLACK_SECONDS)
    assert (process.returncode, out) == (0, "interrupted\n")
    assert wait_until_gone(int(pid_file.read_text()))


def test_ctrl_c_in_the_midst_of_a_start_forgets_no_program() -> None:
    done = python(
        """
        import os, signal
        import boardops.worker as worker
        start = worker._start
        def start_and_interrupt(*words):
            child = start(*words)
            print(child.process.pid)
            os.kill(os.getpid(), signal.SIGINT)
            return child
        worker._start = start_and_interrupt
        try:
            run(["sleep", "60"], 60)
        except KeyboardInterrupt:
            print("interrupted")
        """
    )
    pid, word = done.stdout.split()
    assert (word, done.stderr, done.returncode) == ("interrupted", "", 0)
    assert wait_until_gone(int(pid))


def test_what_still_runs_when_the_block_is_left_is_killed() -> None:
    with pytest.raises(ZeroDivisionError), Running([Program(["sleep", "60"], 60)] * 2) as running:
        pids = [child.process.pid for child in running._children.values()]
        1 / 0  # noqa: B018
    assert len(pids) == 2 and all(wait_until_gone(pid) for pid in pids)


@pytest.mark.parametrize(
    ("setting", "outcome"),
    [
        ("import os; del os.memfd_create", "ok b'out\\n' -"),
        ("import tempfile; tempfile.tempdir = '/no/such/folder'", "ok b'out\\n' -"),
        (
            "import os, tempfile; del os.memfd_create; tempfile.tempdir = '/no/such/folder'",
            "failed b'' sh has no place for its output: No such file or directory-",
        ),
        ("import os; os.close(0)", "ok b'out\\n' -"),
        ("import os; del os.pidfd_open", "ok b'out\\n' -"),
        ("import os; os.close(0); os.close(2)", "ok b'out\\n' -"),
        (
            "import signal; signal.signal(signal.SIGCHLD, signal.SIG_IGN)",
            "failed b'out\\n' sh ended, but its exit code was lost since SIGCHLD is ignored-",
        ),
    ],
)
def test_in_odd_surroundings(setting: str, outcome: str) -> None:
    done = python(f"{setting}\no = run(['sh', '-c', 'cat; echo out'], 20)\nprint(o.kind, o.stdout, o.why + '-')")
    assert (done.stdout.strip(), done.stderr) == (outcome, "")


def test_a_python_program_runs_isolated_from_its_folder(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text("import sys; print(sys.flags.isolated, sys.flags.no_site)")
    argv = python_program(program)
    assert argv[0] == sys.executable
    assert run(argv, SLACK_SECONDS).stdout == b"1 1\n"


@pytest.mark.parametrize("executable", ["", "/no/such/python", "/etc/passwd"])
def test_another_python_is_found_where_ours_is_not_known(tmp_path: Path, executable: str) -> None:
    program = tmp_path / "program.py"
    program.write_text("print(1 + 1)")
    argv = python_program(program, executable)
    assert argv[0] not in {"", executable}
    assert run(argv, SLACK_SECONDS).stdout == b"2\n"


def test_an_outcome_is_a_value() -> None:
    assert run(["true"], SLACK_SECONDS) != run(["true"], SLACK_SECONDS)
    assert Outcome("ok") == Outcome("ok")


def test_a_probe_that_nobody_ends_ends_itself(tmp_path: Path) -> None:
    """As after SIGKILL of the whole run: the kernel's alarm needs nobody."""
    driver = Nvml(tmp_path, count=1).hang("nvmlInit*")
    environment = driver.environment({})
    probe = subprocess.Popen([*program.nvml(), "--alarm", "1"], env=environment, stdout=subprocess.DEVNULL)
    assert probe.wait(timeout=20) == -signal.SIGALRM
