"""Compile a stand-in library from the C sources beside this file, once for each version of them.

The builders of the stand-ins call it. It skips the test that asks for a library which cannot be built here. It does not
know what a library does.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterable
from importlib import metadata
from pathlib import Path

import pytest

HERE = Path(__file__).parent
HEADER_PACKAGE = "nvidia-nvml-dev-cu12"


def nvml_header() -> Path:
    """The folder of NVIDIA's `nvml.h`. Skips the test where the package that carries it is not installed."""
    try:
        files = metadata.files(HEADER_PACKAGE) or []
    except metadata.PackageNotFoundError:
        pytest.skip(f"{HEADER_PACKAGE} is not installed, so nvml.h is missing")
    for file in files:
        if file.name == "nvml.h":
            return Path(str(file.locate())).parent
    pytest.skip(f"{HEADER_PACKAGE} carries no nvml.h")


def compiled(source: str, soname: str, headers: Path | None = None, absent: Iterable[str] = ()) -> Path:
    """The folder that holds the library `soname`, made from the file `source` without the functions `absent`.

    The folder is kept among the temporary files under the digest of what it was made from, so that later runs find it.
    """
    compiler = shutil.which("gcc")
    if compiler is None:
        pytest.skip("gcc is not installed")
    inputs = [Path(__file__), HERE / source, HERE / "behaviour.h", *([headers / "nvml.h"] if headers else [])]
    names = sorted(absent)
    folder = _cache() / _digest([path.read_bytes() for path in inputs] + [soname.encode(), *map(str.encode, names)])
    if not (folder / soname).is_file():
        _compile(compiler, HERE / source, folder / soname, headers, names)
    return folder


def _cache() -> Path:
    return Path(tempfile.gettempdir()) / f"boardops-standin-{os.getuid()}"


def _digest(parts: Iterable[bytes]) -> str:
    digest = hashlib.sha256()
    for part in parts:
        digest.update(len(part).to_bytes(8, "big") + part)
    return digest.hexdigest()[:24]


def _compile(compiler: str, source: Path, target: Path, headers: Path | None, absent: list[str]) -> None:
    target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent) as work:
        # A hidden function is not in the library's table, so that looking it up fails as in an older driver.
        hidden = Path(work) / "hidden.map"
        hidden.write_text(f"{{ local: {' '.join(f'{name};' for name in ['none', *absent])} }};\n")
        made = Path(work) / target.name
        command = [compiler, "-Wall", "-Wextra", "-O1", "-shared", "-fPIC", "-pthread"]
        command += [f"-I{headers}"] if headers else []
        command += [f"-Wl,--version-script={hidden}", f"-Wl,-soname,{target.name}", "-o", str(made), str(source)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{source.name} cannot be compiled:\n{done.stderr}"
        made.rename(target)
