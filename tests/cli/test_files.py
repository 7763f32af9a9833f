"""Reports are whole or not there, whatever else happens to them and to the machine meanwhile."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.program import ROOT, boardops, clean_environment, one_line
from tests.smi_xml import H100, compose

CHECK = [sys.executable, "-m", "boardops", "check"]


@pytest.fixture
def sent(tmp_path: Path) -> Path:
    path = tmp_path / "smi.xml"
    path.write_text(compose([H100]), encoding="utf-8")
    return path


def start(*arguments: str | Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [*CHECK, *map(str, arguments)],
        cwd=ROOT,
        env=clean_environment(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )


def is_whole(path: Path) -> bool:
    text = path.read_text(encoding="utf-8")
    return bool(json.loads(text)["schema"]) if path.suffix == ".json" else text.rstrip().endswith("</html>")


def test_many_runs_write_one_report(tmp_path: Path, sent: Path) -> None:
    reports = [tmp_path / "report.html", tmp_path / "report.json"]
    runs = [start("--from", sent, "-o", reports[0], "-o", reports[1]) for _ in range(6)]
    for run in runs:
        _, error = run.communicate(timeout=60)
        assert (run.returncode, error) == (0, b"")
    assert all(map(is_whole, reports))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["report.html", "report.json", "smi.xml"]


@pytest.mark.parametrize(
    "number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGKILL], ids=lambda number: number.name
)
def test_a_run_that_is_ended_at_any_moment_leaves_the_old_report_or_the_new(
    tmp_path: Path, sent: Path, number: signal.Signals
) -> None:
    report = tmp_path / "out" / "report.json"
    report.parent.mkdir()
    chance = random.Random(7)  # noqa: S311 - moments, no secrets
    for _ in range(12):
        report.write_text('{"schema": "old"}', encoding="utf-8")
        run = start("--from", sent, "-o", report)
        time.sleep(chance.uniform(0.02, 0.2))
        run.send_signal(number)
        _, error = run.communicate(timeout=60)
        assert is_whole(report)
        # Before Python has given us a word in it, a signal ends the program as it ends any other.
        # We take every of these for a Ctrl-C; Python ends itself by that signal where it is too late for an exit code.
        assert run.returncode in {0, 130, -number, -signal.SIGINT}
        assert run.returncode < 0 or b"Traceback" not in error
        if number is not signal.SIGKILL:
            assert [path.name for path in report.parent.iterdir()] == ["report.json"]


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(folder)]
    if os.geteuid() != 0 or shutil.which("mount") is None or subprocess.run(mount, check=False).returncode:
        pytest.skip("a small disk needs the right to mount one")
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=False)


def test_a_full_disk_keeps_the_old_report(sent: Path, small_disk: Path) -> None:
    report = small_disk / "report.html"
    report.write_text("old", encoding="utf-8")
    (small_disk / "filler").write_bytes(b"x" * 40_000)
    done = boardops("check", "--from", str(sent), "-o", str(report))
    assert done.returncode == 3 and "No space left" in one_line(done.stderr)
    assert report.read_text(encoding="utf-8") == "old"
    assert sorted(path.name for path in small_disk.iterdir()) == ["filler", "report.html"]


def test_a_run_from_cron_is_that_from_a_shell(sent: Path) -> None:
    def run(env: dict[str, str], cwd: str) -> dict[str, object]:
        entry = f"import sys; sys.path.insert(0, {str(ROOT)!r}); from boardops.entry import main; main()"
        done = subprocess.run(
            [sys.executable, "-c", entry, "check", "--from", str(sent), "--format", "json"],
            env=env,
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=60,
            check=False,
        )
        assert (done.returncode, done.stderr) == (0, b"")
        report: dict[str, object] = json.loads(done.stdout)
        return {key: value for key, value in report.items() if key not in {"started_at", "seconds"}}

    assert run({"PATH": "/usr/bin:/bin"}, "/") == run(dict(os.environ), str(ROOT))


def test_a_report_of_a_careful_user_is_not_for_all(tmp_path: Path, sent: Path) -> None:
    report = tmp_path / "report.json"
    done = subprocess.run(
        ["sh", "-c", 'umask 077; exec "$@"', "sh", *CHECK, "--from", str(sent), "-o", str(report)],
        cwd=ROOT,
        env=clean_environment(),
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0 and report.stat().st_mode & 0o777 == 0o600


def test_a_link_is_followed_and_a_folder_is_refused(tmp_path: Path, sent: Path) -> None:
    target, link = tmp_path / "target.json", tmp_path / "link.json"
    target.write_text("old", encoding="utf-8")
    link.symlink_to(target)
    assert boardops("check", "--from", str(sent), "-o", str(link)).returncode == 0
    assert is_whole(link)
    (tmp_path / "folder.json").mkdir()
    done = boardops("check", "--from", str(sent), "-o", str(tmp_path / "folder.json"))
    assert done.returncode == 3 and "folder.json" in one_line(done.stderr)


def test_runs_while_the_package_is_replaced(tmp_path: Path, sent: Path) -> None:
    """Every run that starts ends with a documented code and without a traceback, whatever it found of the package."""
    home = tmp_path / "site"
    package = home / "boardops"
    data = ("rules.yaml", "templates")

    def install() -> None:
        shutil.rmtree(package, ignore_errors=True)
        shutil.copytree(ROOT / "boardops", package, ignore=shutil.ignore_patterns("__pycache__"))
        (package / "_data").mkdir()
        for name in data:
            (shutil.copytree if (ROOT / name).is_dir() else shutil.copy)(ROOT / name, package / "_data" / name)

    install()
    code = f"import sys; sys.path.insert(0, {str(home)!r})\nfrom boardops.entry import main\nmain()"
    runs = []
    for _ in range(4):
        for _ in range(3):
            argv = [sys.executable, "-c", code, "check", "--from", str(sent)]
            runs.append(subprocess.Popen(argv, cwd="/", stdout=subprocess.DEVNULL, stderr=subprocess.PIPE))
            time.sleep(0.02)
        install()
    for run in runs:
        _, error = run.communicate(timeout=60)
        # Where not even the entry point was there, Python itself says so.
        missing = (b"No module named 'boardops", b"boardops/entry.py", b"boardops/__init__.py")
        absent = any(words in error for words in missing) and b"boardops: " not in error
        assert absent or (run.returncode in {0, 3} and b"Traceback" not in error), error


def test_a_report_to_standard_output_by_its_name(sent: Path) -> None:
    """`-o` takes the format from the ending, so that /dev/stdout itself is refused, and a link to it is not."""
    done = boardops("check", "--from", str(sent), "-o", "/dev/stdout")
    assert done.returncode == 3 and "the ending must be" in one_line(done.stderr)


def test_a_link_to_standard_output(tmp_path: Path, sent: Path) -> None:
    link = tmp_path / "out.json"
    link.symlink_to("/dev/stdout")
    done = boardops("check", "--quiet", "--from", str(sent), "-o", str(link))
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["readiness"] == "ready" and link.is_symlink()


def test_a_link_to_standard_output_that_is_a_file(tmp_path: Path, sent: Path) -> None:
    """A scheduler sends standard output to a file: what stood in it is not lost by a report that goes there, too."""
    link, log = tmp_path / "out.json", tmp_path / "log"
    link.symlink_to("/dev/stdout")
    log.write_text("earlier\n", encoding="utf-8")
    with log.open("ab") as out:
        argv = [*CHECK, "--quiet", "--from", str(sent), "-o", str(link)]
        done = subprocess.run(argv, cwd=ROOT, env=clean_environment(), stdout=out, check=False)
    assert done.returncode == 0
    assert link.is_symlink() and log.exists()
    assert '"readiness"' in log.read_text(encoding="utf-8")


def test_a_pipe_with_a_reader_gets_the_whole_report(tmp_path: Path, sent: Path) -> None:
    fifo = tmp_path / "report.html"
    os.mkfifo(fifo)
    reader = subprocess.Popen(["cat", str(fifo)], stdout=subprocess.PIPE)
    time.sleep(0.2)
    done = boardops("check", "--from", str(sent), "-o", str(fifo))
    text, _ = reader.communicate(timeout=30)
    assert (done.returncode, done.stderr) == (0, "")
    assert text.rstrip().endswith(b"</html>") and not fifo.is_file()


def test_a_reader_of_a_pipe_that_goes_away(tmp_path: Path, sent: Path) -> None:
    fifo = tmp_path / "report.html"
    os.mkfifo(fifo)
    reader = subprocess.Popen(["head", "-c", "10", str(fifo)], stdout=subprocess.DEVNULL)
    time.sleep(0.2)
    done = boardops("check", "--from", str(sent), "-o", str(fifo))
    assert reader.wait(timeout=30) == 0
    # A pipe holds 64 KiB: whether the program notices is a matter of luck, but it says so in one line at most.
    assert done.returncode in {0, 3} and "Traceback" not in done.stderr and len(done.stderr.splitlines()) <= 1


def test_a_dangling_link_makes_its_target(tmp_path: Path, sent: Path) -> None:
    link, target = tmp_path / "link.json", tmp_path / "target.json"
    link.symlink_to(target)
    assert boardops("check", "--from", str(sent), "-o", str(link)).returncode == 0
    assert link.is_symlink() and is_whole(target)


def test_a_link_to_itself(tmp_path: Path, sent: Path) -> None:
    link = tmp_path / "link.json"
    link.symlink_to(link)
    done = boardops("check", "--from", str(sent), "-o", str(link))
    assert done.returncode == 3 and "link.json" in one_line(done.stderr)
    assert [path.name for path in tmp_path.iterdir() if path.name.endswith(".tmp")] == []


@pytest.mark.parametrize("kind", ["a file", "a dead link", "a folder for nobody"])
def test_bytecode_that_cannot_be_written_is_no_error(tmp_path: Path, sent: Path, kind: str) -> None:
    home = tmp_path / "site"
    shutil.copytree(ROOT / "boardops", home / "boardops", ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("rules.yaml", "templates", "checks"):
        (home / name).symlink_to(ROOT / name)
    for folder in (home / "boardops", *(path for path in (home / "boardops").iterdir() if path.is_dir())):
        cache = folder / "__pycache__"
        if kind == "a file":
            cache.write_bytes(b"")
        elif kind == "a dead link":
            cache.symlink_to("/nonexistent/folder")
        else:
            cache.mkdir(mode=0o000)
    code = f"import sys; sys.path.insert(0, {str(home)!r})\nfrom boardops.entry import main\nmain()"
    for _ in range(2):
        argv = [sys.executable, "-c", code, "check", "--from", str(sent), "-o", str(tmp_path / "r.html")]
        done = subprocess.run(argv, cwd="/", env=clean_environment(), capture_output=True, timeout=60, check=False)
        assert (done.returncode, done.stderr) == (0, b"")
        assert is_whole(tmp_path / "r.html")


def test_runs_while_pip_installs(tmp_path: Path, sent: Path) -> None:
    """A real installation, replaced again and again by pip: documented codes, one line, no traceback."""
    wheel = tmp_path / "wheel"
    build = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "-w", str(wheel)]
    made = subprocess.run([*build, str(ROOT)], capture_output=True, text=True, timeout=120, check=False)
    if made.returncode:
        pytest.skip(f"pip cannot build a wheel here: {made.stderr.strip()[-200:]}")
    home = tmp_path / "venv"
    venv = [sys.executable, "-m", "venv", "--without-pip", "--system-site-packages", str(home)]
    subprocess.run(venv, check=True, timeout=60)
    python = home / "bin" / "python"
    # The libraries that boardops needs are those of this Python.
    (folder,) = home.glob("lib/python*/site-packages")
    paths = [path for path in sys.path if path.endswith("-packages")]
    (folder / "zz_libraries.pth").write_text("\n".join(paths) + "\n", encoding="utf-8")
    (package,) = wheel.glob("*.whl")
    install = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet", "--no-deps", "--no-index"]
    install += ["--force-reinstall", "--no-warn-script-location", str(package)]
    done = subprocess.run(install, capture_output=True, text=True, timeout=120, check=False)
    if done.returncode:
        pytest.skip(f"pip cannot install here: {done.stderr.strip()[-200:]}")
    program = home / "bin" / "boardops"
    runs: list[subprocess.Popen[bytes]] = []
    absent = 0
    for _ in range(2):
        pip = subprocess.Popen(install, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while pip.poll() is None:
            argv = [str(program), "check", "--from", str(sent)]
            try:
                runs.append(subprocess.Popen(argv, cwd="/", stdout=subprocess.DEVNULL, stderr=subprocess.PIPE))
            except FileNotFoundError:
                absent += 1  # pip takes the script away first.
            time.sleep(0.1)
        assert pip.returncode == 0
    codes = set()
    for run in runs:
        _, error = run.communicate(timeout=60)
        if b"boardops: " not in error and (b"No module named 'boardops" in error or b"can't open file" in error):
            absent += 1  # Not even the script or the entry point was there: Python itself says so, with 1 or 2.
            continue
        codes.add(run.returncode)
        assert run.returncode in {0, 3} and b"Traceback" not in error, error
        assert run.returncode == 3 or error == b"", error
        assert b"standard output" not in error, error
        assert len(error.splitlines()) <= 1, error
    assert 0 in codes and absent < len(runs)
