"""`warmbase explore` as a process: the address it prints, how it stops, and when it opens a browser."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import urllib.request
import webbrowser
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import Mock

import pytest

from tests.command import PROCESS, PROJECT, process_variables, run
from tests.patience import HANG_SECONDS
from warmbase.cli.size import explore
from warmbase.environments.reader import locate


@contextmanager
def explorer(*options: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Start the command, and yield its process and the address that it prints."""
    process = subprocess.Popen(
        [*PROCESS, "explore", *options],
        cwd=PROJECT,
        env=process_variables(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout
        yield process, process.stdout.readline().strip()
    finally:
        process.kill()
        process.communicate()


def test_ctrl_c_stops_it_cleanly_while_a_page_is_open() -> None:
    with explorer("dev") as (process, url):
        with urllib.request.urlopen(url, timeout=HANG_SECONDS) as page:  # noqa: S310 - the address of our own server
            assert b"dev.yaml" in page.read()
        process.send_signal(signal.SIGINT)
        assert process.wait(10) == 0
        assert process.stderr
        assert process.stderr.read() == "Open this address in a browser. Press Ctrl-C to stop the server.\n"


def test_an_occupied_port_is_an_error_that_names_it() -> None:
    with socket.socket() as occupied:
        occupied.bind(("127.0.0.1", 0))
        occupied.listen()
        port = occupied.getsockname()[1]
        result = run("explore", "dev", "--port", str(port))
    assert result.returncode == 1
    assert result.stderr.startswith(
        f"--port {port}  warmbase cannot listen on this port\n  Address already in use\n  fix: "
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [(("nowhere",), "there is no such environment"), (("dev", "--cluster", "green"), "one of: blue")],
)
def test_invalid_input_starts_no_server(arguments: tuple[str, ...], message: str) -> None:
    result = run("explore", *arguments)
    assert result.returncode == 2
    assert message in result.stderr


@pytest.mark.parametrize(("variables", "starts"), [({}, False), ({"DISPLAY": ":0"}, True), ({"BROWSER": "x"}, True)])
def test_a_browser_starts_only_where_it_has_a_screen(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], *, starts: bool
) -> None:
    for name in explore.SCREENS:
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setitem(os.environ, name, value)
    monkeypatch.setattr(sys, "platform", "linux")
    opened = Mock(return_value=True)
    monkeypatch.setattr(webbrowser, "open", opened)
    assert explore._start_browser("http://127.0.0.1:1/") is starts
    assert opened.called is starts


def test_a_file_with_ranges_is_shown_with_them(tmp_path: Path) -> None:
    file = tmp_path / "ranged.yaml"
    file.write_text(locate("dev").read_text().replace("stored: 200 GiB", "stored: 1..4 TiB"))
    with explorer(str(file)) as (_, url), urllib.request.urlopen(url, timeout=HANG_SECONDS) as page:  # noqa: S310 - our own server
        assert b'"text":"1..4 TiB"' in page.read()
