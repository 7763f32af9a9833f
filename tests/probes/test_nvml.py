"""The NVML probe on a stand-in driver: links, counters, processes, and what a hang leaves."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

import pytest

from boardops import worker
from boardops.facts import Missing, Values
from boardops.readers import nvml
from boardops.readers.reading import Reading
from tests.probes import program
from tests.standin.behaviour import Refused
from tests.standin.nvml import V100, Nvml

FIELD_QUESTION = "nvmlDeviceGetFieldValues"


def probe(driver: Nvml, *words: str) -> Reading:
    done = subprocess.run(
        program.nvml(*words), capture_output=True, env=driver.environment({}), timeout=60, check=False
    )
    assert (done.returncode, done.stderr) == (0, b"")
    reading = nvml.read(done.stdout)
    assert reading.complete
    return reading


def board(driver: Nvml) -> Values:
    reading = probe(driver)
    assert reading.problems == ()
    (one,) = reading.boards
    assert set(one) == set(nvml.BOARD_FILLS)
    return one


def test_a_healthy_board_answers_everything_once(tmp_path: Path) -> None:
    driver = Nvml(tmp_path, count=1)
    found = board(driver)
    kinds = {value.kind for value in found.values() if isinstance(value, Missing)}
    assert kinds == {"not-supported"}
    assert (found["inforom_version"], found["link.active_count"], found["link.inactive"]) == ("G520.0200.00.05", 18, ())
    twice = {name: count for name, count in driver.calls_of(0).items() if count > 1}
    # Links and their counters are two further questions by fields; the others differ in kind.
    assert twice == {
        FIELD_QUESTION: 3,
        "nvmlDeviceGetTemperatureThreshold": 3,
        "nvmlDeviceGetClockInfo": 2,
        "nvmlDeviceGetTotalEccErrors": 4,
        "nvmlDeviceGetRetiredPages": 2,
    }


def test_links_that_are_down_and_links_with_errors_are_named(tmp_path: Path) -> None:
    found = board(Nvml(tmp_path, count=1).board(0, nvlink_state_3=0, nvlink_crc_flit_7=12, nvlink_replay_7=1))
    assert (found["link.active_count"], found["link.inactive"]) == (17, ("3",))
    assert (found["link.error_count"], found["link.with_errors"]) == (13, ("7: replay 1, crc 12",))


def test_a_link_that_sleeps_is_up(tmp_path: Path) -> None:
    assert board(Nvml(tmp_path, count=1).board(0, nvlink_state_3=2))["link.active_count"] == 18


def test_a_driver_without_the_fields_is_asked_link_by_link(tmp_path: Path) -> None:
    driver = Nvml(tmp_path, count=1).board(0, field_91=Refused(3), field_161=Refused(3), nvlink_state_3=0)
    driver = driver.board(0, field_208=Refused(3), nvlink_crc_data_7=5)
    found = board(driver)
    assert (found["link.active_count"], found["link.inactive"]) == (17, ("3",))
    assert found["link.with_errors"] == ("7: crc_data 5",)
    assert driver.calls()["nvmlDeviceGetNvLinkErrorCounter"] == 17 * 4


def test_newer_boards_count_other_errors(tmp_path: Path) -> None:
    driver = Nvml(tmp_path, count=1).board(0, field_161=Refused(3), field_208=0, field_211=0, field_215=0)
    driver = driver.board(0, field_215_4=2)
    found = board(driver)
    assert (found["link.error_count"], found["link.with_errors"]) == (2, ("4: recovery 2",))
    assert "nvmlDeviceGetNvLinkErrorCounter" not in driver.calls()


def test_a_counter_that_cannot_be_read_is_never_zero(tmp_path: Path) -> None:
    found = board(Nvml(tmp_path, count=1).board(0, field_163_5=Refused(999)))
    assert isinstance(found["link.error_count"], Missing) and found["link.error_count"].kind == "error"
    assert found["link.active_count"] == 18


def test_a_board_without_links(tmp_path: Path) -> None:
    found = board(Nvml(tmp_path, count=1, model=V100))
    for name in ("link.active_count", "link.inactive", "link.error_count", "link.with_errors"):
        value = found[name]
        assert isinstance(value, Missing) and value.kind == "not-supported", name


def test_processes_with_owner_and_group(tmp_path: Path) -> None:
    driver = Nvml(tmp_path, count=1).process(0, os.getpid(), 2**30, "python").process(0, 2**22 + 1, 2**20, "gone")
    found = board(driver.process(0, os.getpid(), 2**30, "python", "G"))["processes"]
    assert isinstance(found, tuple) and len(found) == 2
    mine, gone = found
    assert (mine.pid, mine.kind, mine.used_bytes) == (os.getpid(), "both", 2**30)  # type: ignore[union-attr]
    assert mine.name and isinstance(mine.owner, str)  # type: ignore[union-attr]
    assert isinstance(gone.owner, Missing) and "ended" in gone.owner.why  # type: ignore[union-attr]


def test_one_board_is_asked_by_its_address(tmp_path: Path) -> None:
    driver = Nvml(tmp_path, count=4)
    (one,) = probe(driver, "--board", "0000:3a:00.0").boards
    assert (one["pci_address"], one["index"], one["lost"]) == ("0000:3a:00.0", 2, False)
    assert driver.calls_of(1) == {}


def test_a_board_without_a_handle_is_a_sentence(tmp_path: Path) -> None:
    reading = probe(Nvml(tmp_path, count=2).handle_error(1, 15))
    assert reading.problems == ("the driver gives no board number 1: the board no longer answers its driver",)
    _, refused = reading.boards
    assert (refused["index"], refused["lost"], "pci_address" in refused) == (1, True, False)
    assert isinstance(refused["temperature.core_celsius"], Missing)


@pytest.mark.parametrize("function", ["nvmlDeviceGetUtilizationRates", "nvmlDeviceGetEccMode"])
def test_what_a_board_said_before_it_hung_is_there(tmp_path: Path, function: str) -> None:
    driver = Nvml(tmp_path, count=2).hang(function, board=1)
    outcome = worker.run(program.nvml("--patience", "0.3"), 3, env=driver.environment({}))
    assert outcome.kind == "timed-out"
    reading = nvml.read(outcome.stdout)
    assert f"board 0000:2a:00.0 did not answer {function} within 0.3 s" in reading.problems
    hung = next(board for board in reading.boards if board["index"] == 1)
    assert hung["memory.total_bytes"] and "lost" not in hung
    assert ("temperature.core_celsius" in hung) is (function == "nvmlDeviceGetEccMode")


def test_patience_changes_nothing_where_all_answer(tmp_path: Path) -> None:
    assert probe(Nvml(tmp_path, count=2), "--patience", "60").problems == ()


def test_without_pynvml(tmp_path: Path) -> None:
    done = subprocess.run(program.started("nvml"), capture_output=True, env={}, timeout=60, check=True)
    reading = nvml.read(done.stdout)
    count = reading.host["boards_in_driver_count"]
    assert isinstance(count, Missing) and count.kind == "not-installed" and "nvidia-ml-py" in count.why


def start_fails(tmp_path: Path, code: int, *, before: Sequence[str] = (), mode: int | None = 0o600) -> Missing:
    """Why the driver did not start, where its device node is a file with some mode, or missing."""
    node = tmp_path / "dev" / "nvidiactl"
    node.parent.mkdir(parents=True)
    if mode is not None:
        node.touch()
        node.chmod(mode)
    driver = Nvml(tmp_path / "driver", count=2).error("nvmlInit*", code)
    environment = driver.environment({})
    # The library lies where only its builder may look; another user gets a copy.
    shutil.copytree(environment["LD_LIBRARY_PATH"], tmp_path / "lib")
    (tmp_path / "lib").chmod(0o755)
    environment["LD_LIBRARY_PATH"] = str(tmp_path / "lib")
    for name in ("STANDIN_NVML_CALLS", "STANDIN_NVML_STARTED"):
        Path(environment[name]).touch()
        Path(environment[name]).chmod(0o666)
    done = subprocess.run(
        [*before, *program.nvml("--root", str(tmp_path))], capture_output=True, env=environment, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    value = nvml.read(done.stdout).host["boards_in_driver_count"]
    assert isinstance(value, Missing)
    return value


def test_a_node_that_can_be_opened_is_not_the_cause(tmp_path: Path) -> None:
    assert start_fails(tmp_path, 999).why == "the driver answered with an unknown error"


def test_a_node_that_is_missing_is_named(tmp_path: Path) -> None:
    value = start_fails(tmp_path, 9, mode=None)
    assert value.why == "the NVIDIA kernel module is not loaded, and there is no /dev/nvidiactl here"
    assert "nvidiactl" not in start_fails(tmp_path / "b", 18, mode=None).why, "a mismatch has another cause"


@pytest.mark.skipif(os.getuid() != 0, reason="only root can become another user")
@pytest.mark.skipif(shutil.which("setpriv") is None, reason="setpriv is not installed")
def test_an_ordinary_user_without_the_right() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        before = ("/usr/bin/env", "setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")
        if subprocess.run([*before, program.nvml()[0], "-c", "pass"], capture_output=True, check=False).returncode:
            pytest.skip("another user may not run this Python")
        value = start_fails(folder, 4, before=before, mode=0o600)
    assert (value.kind, value.why) == ("not-permitted", "/dev/nvidiactl may not be opened by this user")
