"""Processes of the lab end when they are told to, and when nobody is left to tell them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from msgspec.structs import replace

from lab.machine.process import Command, start, stop_together
from tests.patience import HANG_SECONDS, wait_until
from warmbase.ground.errors import OperationFailed


def command(tmp_path: Path, script: str) -> Command:
    return Command(
        name="a process", arguments=(sys.executable, "-c", script), directory=tmp_path, output=tmp_path / "logs" / "out"
    )


def has_ended(process_id: int) -> bool:
    try:
        return Path(f"/proc/{process_id}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def test_its_output_is_in_its_file(tmp_path: Path) -> None:
    running = start(command(tmp_path, "print('said')"))
    running.wait_for_end(HANG_SECONDS)
    assert (tmp_path / "logs" / "out").read_text() == "said\n"


def test_it_sees_little_of_our_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "not for logs")
    running = start(command(tmp_path, "import os; print('AWS_SECRET_ACCESS_KEY' in os.environ)"))
    running.wait_for_end(HANG_SECONDS)
    assert (tmp_path / "logs" / "out").read_text() == "False\n"


def test_one_that_does_not_stop_is_killed(tmp_path: Path) -> None:
    stubborn = (
        "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('up', flush=True); time.sleep(3600)"
    )
    running = start(command(tmp_path, stubborn))
    running.wait_until(lambda: "up" in (tmp_path / "logs" / "out").read_text(), HANG_SECONDS, "word of it")
    assert running.stop(0.3) >= 0.3
    assert not running.is_alive
    assert running.process.returncode == -signal.SIGKILL


def test_one_that_ends_too_early_is_reported_at_once(tmp_path: Path) -> None:
    running = start(command(tmp_path, "raise SystemExit(7)"))
    with pytest.raises(OperationFailed, match=r"a process  ended with 7 before an answer"):
        running.wait_until(lambda: False, HANG_SECONDS, "an answer")


def test_one_that_takes_too_long_is_reported_and_killed(tmp_path: Path) -> None:
    running = start(command(tmp_path, "import time; time.sleep(3600)"))
    with pytest.raises(OperationFailed, match=r"did not end within 0 s, and was killed"):
        running.wait_for_end(0.2)
    assert not running.is_alive


def test_what_is_not_there_cannot_be_started(tmp_path: Path) -> None:
    missing = Command(name="java", arguments=("/no/java",), directory=tmp_path, output=tmp_path / "out")
    with pytest.raises(OperationFailed, match="java  could not be started"):
        start(missing)


def test_several_end_beside_each_other(tmp_path: Path) -> None:
    """Each ends only when all have been told to."""
    companion = (
        "import os, signal, sys, time\nfrom pathlib import Path\n"
        "def end(*_):\n"
        "    Path(f'told-{os.getpid()}').touch()\n"
        "    while len(list(Path().glob('told-*'))) < 3: time.sleep(0.01)\n"
        "    sys.exit()\n"
        "signal.signal(signal.SIGTERM, end)\nprint(flush=True)\ntime.sleep(3600)"
    )
    running = [start(replace(command(tmp_path, companion), output=tmp_path / str(number))) for number in range(3)]
    for process in running:
        wait_until(lambda output=process.command.output: output.read_text() != "")  # type: ignore[misc]
    stop_together(running, HANG_SECONDS)
    assert [process.process.returncode for process in running] == [0, 0, 0]


@pytest.mark.skipif(sys.platform != "linux", reason="asks Linux to end it with its parent")
def test_it_ends_when_its_owner_is_killed(tmp_path: Path) -> None:
    script = (
        "import sys, time\nfrom pathlib import Path\nfrom lab.machine.process import Command, start\n"
        "at = Path(sys.argv[1])\n"
        "running = start(Command(name='it', arguments=(sys.executable, '-c', 'import time; time.sleep(3600)'),"
        " directory=at, output=at / 'out'))\n"
        "print(running.id, flush=True)\ntime.sleep(3600)\n"
    )
    root = Path(__file__).parents[3]
    owner = subprocess.Popen([sys.executable, "-c", script, str(tmp_path)], stdout=subprocess.PIPE, cwd=root, text=True)
    assert owner.stdout is not None
    child = int(owner.stdout.readline())
    os.kill(owner.pid, signal.SIGKILL)
    owner.wait(HANG_SECONDS)
    owner.stdout.close()
    wait_until(lambda: has_ended(child))
