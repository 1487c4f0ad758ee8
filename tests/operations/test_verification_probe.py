"""The program that Systems Manager runs on a core node of HBase: its facts, and null for what it cannot read."""

from __future__ import annotations

import getpass
import json
import shutil
import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.patience import HANG_SECONDS
from warmbase.operations.on_node import probe_hbase
from warmbase.operations.on_node.node_facts import first_line, owner, process
from warmbase.operations.verify.probe import NodeProgram
from warmbase.operations.verify.verification import PROGRAM


def test_the_state_of_an_action_is_the_first_line(tmp_path: Path) -> None:
    file = tmp_path / "mount-volumes"
    file.write_text("done\n--cache-volume-gib=214 --owner=hbase\n")
    assert first_line(file) == "done"


def answer(directory: Path, program: NodeProgram) -> dict[str, Any]:
    """Return what the program prints where a shell runs its text, on a machine without commands for disks and units."""
    for command in ("mktemp", "base64", "rm"):
        (directory / command).symlink_to(shutil.which(command) or "")
    environment = {"PATH": str(directory), "TMPDIR": str(directory)}
    text = program.text.replace("/usr/bin/python3", sys.executable)
    before = set(directory.iterdir())
    done = subprocess.run(
        ["/bin/sh", "-c", text], env=environment, capture_output=True, text=True, check=True, timeout=HANG_SECONDS
    )
    assert set(directory.iterdir()) == before, "it leaves no file behind"
    facts: dict[str, Any] = json.loads(done.stdout)
    return facts


def test_facts_are_null_on_a_machine_that_is_not_a_node(tmp_path: Path) -> None:
    """The program gets other directories and no PATH, so that an HBase of the test machine does not matter."""
    nowhere = (
        "--region-server",
        "http://127.0.0.1:1",
        "--rpc",
        "127.0.0.1:1",
        "--proc",
        str(tmp_path),
        "--logs",
        str(tmp_path),
    )
    facts = answer(tmp_path, NodeProgram(PROGRAM, (*nowhere, "hbase.rootdir")))
    assert facts["region_server"] is None
    assert (facts["figures"], facts["configuration"], facts["stranger"]) == (None, None, None)
    assert facts["mounts"] == {"/warmbase/cache": None, "/warmbase/system": None}


@pytest.mark.parametrize(("ends", "expected"), [(True, "refused"), (False, "served")])
def test_a_client_without_credentials_is_refused_where_the_server_ends_the_connection(
    ends: bool,  # noqa: FBT001
    expected: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(probe_hbase, "REFUSAL_SECONDS", HANG_SECONDS if ends else 0.5)
    with socket.create_server(("127.0.0.1", 0)) as server, ThreadPoolExecutor(1) as pool:
        answer = pool.submit(probe_hbase.stranger, f"127.0.0.1:{server.getsockname()[1]}")
        connection, _ = server.accept()
        with connection:
            assert connection.recv(6) == b"HBas\x00\x50"
            if not ends:
                assert answer.result(timeout=HANG_SECONDS) == expected
        assert answer.result(timeout=HANG_SECONDS) == expected


def test_the_region_server_is_the_process_with_its_main_class(tmp_path: Path) -> None:
    for pid, command in (
        (12, "java\0-Xmx1g\0org.apache.hadoop.hbase.regionserver.HRegionServer\0start\0"),
        (7, "sh\0"),
    ):
        (tmp_path / str(pid)).mkdir()
        (tmp_path / str(pid) / "cmdline").write_text(command)
        (tmp_path / str(pid) / "limits").write_text("Max open files            131072  131072  files\n")
    server = process(tmp_path, probe_hbase.MAIN_CLASS)
    assert server is not None
    assert (server["pid"], server["user"]) == (12, getpass.getuser())
    assert (server["open_files"], server["processes"]) == (131072, None)
    assert "-Xmx1g" in server["arguments"]


def test_only_debug_lines_of_the_allocator_count(tmp_path: Path) -> None:
    logs = probe_hbase.logs
    assert logs(tmp_path) == {"collector_bytes": None, "allocator_debug": False}
    (tmp_path / "regionserver-gc.log").write_text("[gc] x")
    own = tmp_path / "hbase-hbase-regionserver-ip-10-0-0-1.log"
    own.write_text("2026 INFO bucket.BucketAllocator: x\n2026 DEBUG bucket.BucketCache: x\n")
    assert logs(tmp_path) == {"collector_bytes": 6, "allocator_debug": False}
    own.write_text("2026 DEBUG [thread] bucket.BucketAllocator: statistics\n")
    assert logs(tmp_path)["allocator_debug"]


def test_an_owner_is_a_user_and_a_mode(tmp_path: Path) -> None:
    tmp_path.chmod(0o750)
    assert owner(str(tmp_path)) == f"{getpass.getuser()} 750"
    assert owner(str(tmp_path / "none")) is None
