"""The built wheel and the editable install work from any folder, with rules, templates and checks found."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

from tests.cli.program import ROOT, clean_environment
from tests.smi_xml import H100, compose


def run(*argv: str | Path, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(word) for word in argv],
        capture_output=True,
        text=True,
        cwd=cwd,
        env=clean_environment(),
        timeout=300,
        check=False,
    )


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the tree, so that building leaves nothing in it."""
    copy = tmp_path_factory.mktemp("source") / "tree"
    ignored = shutil.ignore_patterns(".git", ".venv", ".*_cache", "__pycache__", "build", "dist", ".hypothesis")
    shutil.copytree(ROOT, copy, ignore=ignored)
    return copy


@pytest.fixture(scope="module")
def wheel(source: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    pip = (sys.executable, "-m", "pip")
    built = run(*pip, "wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", folder, source)
    assert built.returncode == 0, built.stderr
    (path,) = folder.glob("boardops-*.whl")
    return path


def new_environment(folder: Path) -> Path:
    """A virtual environment that sees this one's libraries, but not its boardops."""
    made = run(sys.executable, "-m", "venv", "--without-pip", folder)
    assert made.returncode == 0, made.stderr
    (packages,) = folder.glob("lib/python*/site-packages")
    # Path files in a folder that is added this way are not read, so this environment's own install stays out.
    (packages / "libraries.pth").write_text(sysconfig.get_path("purelib") + "\n", encoding="utf-8")
    return folder / "bin"


def install(bin_: Path, *what: str | Path) -> None:
    done = run(
        sys.executable, "-m", "pip", "--python", bin_ / "python", "install", "--no-deps", "--no-build-isolation", *what
    )
    assert done.returncode == 0, done.stderr


def check(bin_: Path, neutral: Path) -> None:
    """The program works from a neutral folder, with its data."""
    (neutral / "smi.xml").write_text(compose([H100]), encoding="utf-8")
    done = run(
        bin_ / "boardops", "check", "--from", "smi.xml", "-o", "r.html", "-o", "r.md", "-o", "r.json", cwd=neutral
    )
    assert (done.returncode, done.stderr) == (0, "")
    report = json.loads((neutral / "r.json").read_text(encoding="utf-8"))
    assert report["readiness"] == "ready" and report["rules"]["files"] == ["rules.yaml"]
    assert "<html" in (neutral / "r.html").read_text(encoding="utf-8")
    assert run(bin_ / "boardops", "check", "--cpu", cwd=neutral).returncode == 0
    where = "from boardops.locate import shipped; print(shipped('checks'), shipped('templates'))"
    assert all(Path(folder).is_dir() for folder in run(bin_ / "python", "-c", where, cwd=neutral).stdout.split())
    assert run(bin_ / "boardops", "rules", "test", cwd=neutral).returncode == 0


def test_the_wheel_holds_the_data_and_no_tests(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert "boardops/_data/rules.yaml" in names
    assert any(name.startswith("boardops/_data/templates/") for name in names)
    assert any(name.startswith("boardops/_data/checks/") for name in names)
    assert any(name.endswith("licenses/LICENSE") for name in names)
    assert not [name for name in names if name.startswith(("tests/", "examples/"))]


def test_the_wheel_works_from_a_neutral_folder(wheel: Path, tmp_path: Path) -> None:
    bin_ = new_environment(tmp_path / "venv")
    install(bin_, wheel)
    (tmp_path / "neutral").mkdir()
    check(bin_, tmp_path / "neutral")


def test_the_editable_install_works_from_a_neutral_folder(source: Path, tmp_path: Path) -> None:
    bin_ = new_environment(tmp_path / "venv")
    install(bin_, "--editable", source)
    (tmp_path / "neutral").mkdir()
    check(bin_, tmp_path / "neutral")
