"""What users, files and machines do wrong: one clear sentence, the right exit code, nothing already read is lost."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from tests.cli.program import ROOT, boardops, clean_environment, one_line
from tests.smi_xml import H100, compose, process, with_tags


@pytest.fixture
def healthy(tmp_path: Path) -> Path:
    path = tmp_path / "healthy.xml"
    path.write_text(compose([H100]), encoding="utf-8")
    return path


def bad_file(tmp_path: Path, data: bytes) -> str:
    path = tmp_path / "sent.bin"
    path.write_bytes(data)
    done = boardops("check", "--from", str(path))
    assert done.returncode == 3
    line = one_line(done.stderr)
    assert str(path) in line
    return line


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "is empty"),
        (b"\x89PNG\r\n\x1a\n" + bytes(200), "PNG picture"),
        (compose([H100])[:200].encode(), "stops in line"),
        (
            b'<!DOCTYPE nvidia_smi_log [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><nvidia_smi_log>&b;</nvidia_smi_log>',
            "entity",
        ),
        (os.urandom(100) + bytes(100), "binary"),
    ],
    ids=["empty", "png", "truncated", "entity bomb", "noise"],
)
def test_files_that_cannot_be_read(tmp_path: Path, data: bytes, words: str) -> None:
    assert words in bad_file(tmp_path, data)


def test_a_hundred_megabytes_of_spaces(tmp_path: Path) -> None:
    path = tmp_path / "spaces"
    with path.open("wb") as file:
        for _ in range(100):
            file.write(b" " * 2**20)
    done = boardops("check", "--from", str(path))
    assert done.returncode == 3
    assert "larger than 64 MiB" in one_line(done.stderr)


def test_no_such_file_and_a_folder(tmp_path: Path) -> None:
    for name, words in ((tmp_path / "none.xml", "No such file"), (tmp_path, "is a folder")):
        done = boardops("check", "--from", str(name))
        assert done.returncode == 3
        assert words in one_line(done.stderr)


def test_utf_16_is_read(tmp_path: Path) -> None:
    path = tmp_path / "windows.xml"
    path.write_bytes(compose([H100]).encode("utf-16"))
    assert boardops("check", "--from", str(path)).returncode == 0


def test_a_bad_file_beside_a_good_one_costs_only_the_certainty(tmp_path: Path, healthy: Path) -> None:
    bad = tmp_path / "bad.xml"
    bad.write_bytes(b"hello")
    done = boardops("check", "--from", str(healthy), "--from", str(bad), "--format", "json")
    assert done.returncode == 3
    assert str(bad) in one_line(done.stderr)
    report = json.loads(done.stdout)
    assert report["readiness"] == "unknown" and str(bad) in report["cause"]
    assert report["boards"][0]["readiness"] == "ready"
    assert [entry["outcome"] for entry in report["evidence"]] == ["ok", "failed"]


def test_half_a_file_still_judges_the_boards_before_the_cut(tmp_path: Path) -> None:
    text = compose([with_tags(H100, {"pci/pci_bus_id": f"00000000:{n:02X}:00.0"}) for n in (1, 2, 3)])
    path = tmp_path / "half.xml"
    path.write_text(text[: int(len(text) * 0.6)], encoding="utf-8")
    done = boardops("check", "--from", str(path), "--format", "json")
    assert done.returncode == 3
    report = json.loads(done.stdout)
    assert report["boards"][0]["score"] == 100
    assert {f["rule"] for f in report["host"]["findings"] if f["verdict"] == "unknown"} >= {"boards.listed"}


@pytest.mark.parametrize("format_", ["json", "markdown", "html"])
def test_a_report_arrives_even_when_nothing_can_be_seen(tmp_path: Path, format_: str) -> None:
    done = boardops("check", "--from", str(tmp_path / "none"), "--format", format_)
    assert done.returncode == 3
    assert "none" in done.stdout and "No such file" in done.stdout


def test_two_boards_at_one_address_name_both_files(tmp_path: Path, healthy: Path) -> None:
    other = tmp_path / "other.xml"
    other.write_text(compose([with_tags(H100, {"uuid": "GPU-ffffffff-1111-2222-3333-000000000001"})]), encoding="utf-8")
    done = boardops("check", "--from", str(healthy), "--from", str(other))
    assert done.returncode == 3
    line = one_line(done.stderr)
    assert str(healthy) in line and str(other) in line


def test_standard_input(healthy: Path) -> None:
    assert boardops("check", "--from", "-", stdin=healthy.read_bytes()).returncode == 0
    done = boardops("check", "--from", "-", stdin=b"")
    assert done.returncode == 3
    assert "standard input is empty" in one_line(done.stderr)


# Rules files.

RULE = """schema: boardops.rules/1
rules:
  - id: site.replay
    title: Few replays
    for: board
    fact: board.pcie.replay_count
    expect: {at_most: 5}
    severity: warn
    weight: 1
    remedy: {action: watch, text: Watch it.}
    source: {text: ours, confidence: guess}
    cases:
      - {given: {board.pcie.replay_count: 5}, verdict: pass}
"""


@pytest.mark.parametrize(
    ("old", "new", "line", "words"),
    [
        ("    weight: 1", "\tweight: 1", 9, "tab"),
        ("severity: warn", "severty: warn", 8, "did you mean 'severity'"),
        ("board.pcie.replay_count\n", "board.pcie.replay_cont\n", 6, "did you mean 'board.pcie.replay_count'"),
        ("{at_most: 5}", "{at_mots: 5}", 7, "did you mean 'at_most'"),
        ("{at_most: 5}", "{at_most: {fact: board.temperature.core_celsius}}", 7, "celsius"),
        ("    cases:\n      - {given: {board.pcie.replay_count: 5}, verdict: pass}\n", "", 3, "cases"),
        ("text: ours", "text: &a [*a]", 11, "alias"),
        ("  - id: site.replay", "  - id: site.replay\n    id: site.replay", 4, "twice"),
    ],
    ids=["tab", "unknown key", "unknown fact", "unknown comparison", "units", "no cases", "cyclic anchor", "duplicate"],
)
def test_mistakes_in_a_rules_file(tmp_path: Path, healthy: Path, old: str, new: str, line: int, words: str) -> None:
    path = tmp_path / "site.yaml"
    path.write_text(RULE.replace(old, new), encoding="utf-8")
    done = boardops("check", "--from", str(healthy), "--rules", str(path))
    assert done.returncode == 3
    message = one_line(done.stderr)
    assert f"{path}:{line}:" in message
    assert words in message


def test_a_duplicate_id_names_both_lines(tmp_path: Path, healthy: Path) -> None:
    path = tmp_path / "site.yaml"
    body = RULE.partition("rules:\n")[2]
    path.write_text(RULE + body, encoding="utf-8")
    done = boardops("check", "--from", str(healthy), "--rules", str(path))
    assert done.returncode == 3
    assert f"{path}:14: rule 'site.replay' stands in this file twice, first in line 3" in one_line(done.stderr)


# Where reports go.


def test_a_report_in_a_folder_that_is_not_there(tmp_path: Path, healthy: Path) -> None:
    target = tmp_path / "none" / "report.html"
    done = boardops("check", "--from", str(healthy), "-o", str(target))
    assert done.returncode == 3
    assert f"cannot write {target}: No such file or directory" in one_line(done.stderr)
    assert "ready" in done.stdout.lower(), "the verdict is printed all the same"


def test_an_ending_that_picks_no_format(healthy: Path) -> None:
    done = boardops("check", "--from", str(healthy), "-o", "report.docx")
    assert done.returncode == 3
    assert "ending" in one_line(done.stderr)


AS_NOBODY = """
import os, sys
from boardops.cli.main import run
source, open_, closed = sys.argv[1:]
# Once as root, so that all modules are loaded before the folders of this Python are out of reach.
assert run(["check", "--quiet", "--from", source, "-o", open_]) == 0
os.setgroups([]); os.setgid(65534); os.setuid(65534)
sys.exit(run(["check", "--quiet", "--from", source, "-o", closed]))
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
def test_a_folder_without_write_permission() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        source, closed = folder / "smi.xml", folder / "closed" / "report.md"
        source.write_text(compose([H100]), encoding="utf-8")
        closed.parent.mkdir(mode=0o755)
        done = subprocess.run(
            [sys.executable, "-c", AS_NOBODY, str(source), str(folder / "open.md"), str(closed)],
            capture_output=True,
            text=True,
            cwd=ROOT,
            check=False,
        )
        assert done.returncode == 3, done.stderr
        assert f"cannot write {closed}: Permission denied" in one_line(done.stderr)
        assert list(closed.parent.iterdir()) == []


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount")
def test_a_full_disk_leaves_no_half_report(tmp_path: Path, healthy: Path) -> None:
    small = tmp_path / "small"
    small.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(small)], capture_output=True).returncode:
        pytest.skip("mounting is not allowed here")
    try:
        (small / "old.html").write_text("the old report", encoding="utf-8")
        (small / "fill").write_bytes(bytes(2**20 - 64 * 1024))
        done = boardops("check", "--from", str(healthy), "-o", str(small / "old.html"))
        assert done.returncode == 3
        assert "No space left on device" in one_line(done.stderr)
        assert (small / "old.html").read_text(encoding="utf-8") == "the old report"
        assert sorted(path.name for path in small.iterdir()) == ["fill", "old.html"]
    finally:
        subprocess.run(["umount", str(small)], check=False)


def test_standard_output_closed_early(healthy: Path) -> None:
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(
        [sys.executable, "-m", "boardops", "check", "--from", str(healthy), "--format", "json"],
        stdout=write,
        stderr=subprocess.PIPE,
        cwd=ROOT,
        check=False,
    )
    os.close(write)
    assert done.returncode == 3
    assert done.stderr == b"", "there is nobody to tell"


def test_standard_output_on_a_full_disk(healthy: Path) -> None:
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", "boardops", "check", "--from", str(healthy)],
            stdout=full,
            stderr=subprocess.PIPE,
            cwd=ROOT,
            check=False,
        )
    assert done.returncode == 3
    assert "No space left on device" in one_line(done.stderr.decode())


def test_ctrl_c_in_the_middle() -> None:
    child = subprocess.Popen(
        [sys.executable, "-m", "boardops", "check", "--from", "-"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=ROOT,
    )
    # It waits for standard input, which never comes.
    time.sleep(1.0)
    child.send_signal(signal.SIGINT)
    _, error = child.communicate(timeout=30)
    assert child.returncode == 130
    assert error.decode().strip() == "boardops: interrupted"


# Poor surroundings.


def test_no_home_an_empty_path_and_a_c_locale(tmp_path: Path, healthy: Path) -> None:
    env = {"PATH": "", "LC_ALL": "C"}
    done = boardops("check", "--from", str(healthy), "-o", str(tmp_path / "r.html"), env=env)
    assert (done.returncode, done.stderr) == (0, "")
    assert boardops("check", "--cpu", env=env).returncode == 0


def test_an_encoding_that_cannot_show_everything(healthy: Path) -> None:
    done = boardops("check", "--from", str(healthy), env={"PYTHONIOENCODING": "ascii"})
    assert done.returncode == 0
    assert done.stdout.isascii()


@pytest.mark.parametrize(
    "module", ["click", "msgspec", "yaml", "boardops/evaluate.py", "boardops/cli", "boardops/catalog/boards.yaml"]
)
def test_a_broken_installation_ends_in_3(tmp_path: Path, healthy: Path, module: str) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(ROOT / "boardops", copy / "boardops", ignore=shutil.ignore_patterns("__pycache__"))
    if module.startswith("boardops/"):
        gone = copy / module
        shutil.rmtree(gone) if gone.is_dir() else gone.unlink()
    else:
        (copy / f"{module}.py").write_text(f"raise ModuleNotFoundError('No module named {module}')", encoding="utf-8")
    for name in ("rules.yaml", "templates", "checks"):
        (copy / name).symlink_to(ROOT / name)
    code = "import sys; sys.path.insert(0, sys.argv.pop(1)); from boardops.entry import main; main()"
    done = subprocess.run(
        [
            sys.executable,
            "-P" if sys.version_info >= (3, 11) else "-E",
            "-c",
            code,
            str(copy),
            "check",
            "--from",
            str(healthy),
        ],
        capture_output=True,
        text=True,
        cwd="/",
        env=clean_environment(),
        check=False,
    )
    assert done.returncode == 3
    assert "Traceback" not in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert "standard output" not in done.stderr, "what is missing is named, and nothing else is blamed"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["check", "--nonsense"], "--nonsense"),
        (["chekc"], "chekc"),
        (["check", "--need", "bords=8"], "did you mean 'boards'"),
        (["check", "--need", "free=lots"], "'lots'"),
        (["check", "--need", "boards=0"], "above 0"),
        (["check", "--need", "cuda=new"], "version"),
        (["check", "--only", "pcie.widht"], "did you mean 'pcie.width'"),
        (["check", "--skip", "nothing.*"], "matches no rule"),
        (["check", "--at", "yesterday"], "yesterday"),
        (["check", "--cpu", "--from", "x.xml"], "--cpu"),
        (["check", "--deadline", "0"], "deadline"),
        (["rules", "show", "pcie.wdth"], "did you mean 'pcie.width'"),
        (["explain", "pcie.wdth"], "did you mean 'pcie.width'"),
    ],
)
def test_wrong_usage_is_one_line_and_3(arguments: list[str], words: str) -> None:
    done = boardops(*arguments)
    assert done.returncode == 3
    assert words in one_line(done.stderr)


def test_a_board_that_is_not_there(healthy: Path) -> None:
    done = boardops("check", "--from", str(healthy), "--board", "0000:99:00.0")
    assert done.returncode == 3
    assert "0000:18:00.0" in one_line(done.stderr)


# Hostile text.


def test_hostile_names_do_nothing_in_any_format(tmp_path: Path) -> None:
    evil = "\x1b[31m| `x` <b>\u202e # [a](b)"
    clean = evil.replace("\x1b", "\\x1b")
    text = compose(
        [with_tags(H100, {"product_name": evil.replace("\x1b", "&#x1b;")})],
        processes={0: [process(7, "<script>alert(1)</script>")]},
    )
    assert clean  # The escape character is not allowed in XML 1.0, so a file can hold all but that.
    path = tmp_path / "evil.xml"
    path.write_text(text.replace("&amp;#x1b;", ""), encoding="utf-8")
    outputs = [str(tmp_path / f"r{ending}") for ending in (".html", ".md", ".json", ".txt")]
    done = boardops("check", "--from", str(path), *[word for name in outputs for word in ("-o", name)])
    assert done.returncode in {0, 1, 2}, done.stderr
    html = Path(outputs[0]).read_text(encoding="utf-8")
    assert "<script>alert" not in html
    for name in outputs:
        if not name.endswith(".json"):
            assert "\u202e" not in Path(name).read_text(encoding="utf-8"), name


# Pipes, closed descriptors and odd names.


def test_a_pipe_that_nobody_feeds_is_given_up(tmp_path: Path) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    writer = os.open(fifo, os.O_RDWR)  # Held open, so that it never ends.
    done = boardops("check", "--from", str(fifo), "--deadline", "0.5")
    os.close(writer)
    assert done.returncode == 3
    assert "did not end within 0.5 s" in one_line(done.stderr)


def test_a_report_into_a_pipe_that_nobody_reads(tmp_path: Path, healthy: Path) -> None:
    fifo = tmp_path / "report.md"
    os.mkfifo(fifo)
    done = boardops("check", "--from", str(healthy), "-o", str(fifo))
    assert done.returncode == 3
    assert str(fifo) in one_line(done.stderr)


@pytest.mark.parametrize("command", ["check --from FILE", "rules list", "check --from -"])
def test_closed_descriptors(healthy: Path, command: str) -> None:
    words = command.replace("FILE", str(healthy))
    closed = "<&-" if command.endswith("-") else ">&-"
    done = subprocess.run(
        ["sh", "-c", f"exec {sys.executable} -m boardops {words} {closed}"],
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        cwd=ROOT,
        check=False,
    )
    assert done.returncode == 3
    assert "closed" in one_line(done.stderr.decode())


def test_a_file_name_that_is_no_text(tmp_path: Path, healthy: Path) -> None:
    path = os.fsencode(tmp_path) + b"/caf\xe9.xml"
    Path(os.fsdecode(path)).write_bytes(healthy.read_bytes())
    done = boardops(
        "check", "--from", os.fsdecode(path), "-o", str(tmp_path / "r.json"), "-o", str(tmp_path / "r.html")
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads((tmp_path / "r.json").read_text(encoding="utf-8"))["evidence"][0]["origin"].endswith(
        "caf\\xe9.xml"
    )


def test_an_encoding_that_nobody_knows(tmp_path: Path) -> None:
    text = compose([H100]).replace('<?xml version="1.0" ?>', '<?xml version="1.0" encoding="x-foo"?>')
    assert "encoding" in bad_file(tmp_path, text.encode())


@pytest.mark.parametrize("arguments", [[], ["rules"]])
def test_a_group_without_a_command_prints_its_help(arguments: list[str]) -> None:
    done = boardops(*arguments)
    assert done.returncode == 3 and done.stderr == ""
    assert len(done.stdout.splitlines()) > 5


def test_help_on_a_full_disk() -> None:
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", "boardops", "--help"], stdout=full, stderr=subprocess.PIPE, cwd=ROOT, check=False
        )
    assert done.returncode == 3
    assert "No space left" in one_line(done.stderr.decode())


def test_quiet_gives_one_line_whatever_happens(tmp_path: Path, healthy: Path) -> None:
    good = boardops("check", "--quiet", "--from", str(healthy))
    assert (good.returncode, good.stdout, good.stderr) == (0, "", "")
    bad = boardops("check", "--quiet", "--from", str(tmp_path / "none"))
    assert len((bad.stdout + bad.stderr).splitlines()) == 1


def test_a_report_keeps_the_mode_of_the_file_it_replaces(tmp_path: Path, healthy: Path) -> None:
    target = tmp_path / "r.md"
    target.write_text("old", encoding="utf-8")
    target.chmod(0o640)
    boardops("check", "--from", str(healthy), "-o", str(target))
    assert target.stat().st_mode & 0o777 == 0o640


def test_an_unknown_finding_asks_to_make_it_visible_and_not_to_replace_the_board(tmp_path: Path) -> None:
    path = tmp_path / "smi.xml"
    path.write_text(compose([with_tags(H100, {"remapped_rows/remapped_row_failure": "ERR!"})]), encoding="utf-8")
    done = boardops("check", "--from", str(path))
    assert done.returncode == 3
    assert "rows.failed" in done.stdout and "replace" not in done.stdout
