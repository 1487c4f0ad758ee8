"""The program that Systems Manager runs on a core node: its facts, and null for what it cannot read."""

from __future__ import annotations

import getpass
import json
import runpy
import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from operations.verification.probe import PROGRAM


def test_the_state_of_an_action_is_the_first_line(tmp_path: Path) -> None:
    file = tmp_path / "mount-volumes"
    file.write_text("done\n--cache-volume-gib=214 --owner=hbase\n")
    assert runpy.run_path(str(PROGRAM))["first_line"](file) == "done"


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
    process = subprocess.run(
        [sys.executable, str(PROGRAM), *nowhere, "hbase.rootdir"],
        env={"PATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    facts = json.loads(process.stdout)
    assert facts["region_server"] is None
    assert (facts["figures"], facts["configuration"], facts["stranger"]) == (None, None, None)
    assert facts["mounts"] == {"/warmbase/cache": None, "/warmbase/system": None}


@pytest.mark.parametrize(("ends", "expected"), [(True, "refused"), (False, "served")])
def test_a_client_without_credentials_is_refused_where_the_server_ends_the_connection(
    ends: bool,  # noqa: FBT001
    expected: str,
) -> None:
    probe = runpy.run_path(str(PROGRAM))
    probe["stranger"].__globals__["REFUSAL_SECONDS"] = 0.5
    with socket.create_server(("127.0.0.1", 0)) as server, ThreadPoolExecutor(1) as pool:
        answer = pool.submit(probe["stranger"], f"127.0.0.1:{server.getsockname()[1]}")
        connection, _ = server.accept()
        with connection:
            assert connection.recv(6) == b"HBas\x00\x50"
            if not ends:
                assert answer.result(timeout=5) == expected
        assert answer.result(timeout=5) == expected


def test_the_region_server_is_the_process_with_its_main_class(tmp_path: Path) -> None:
    for pid, command in (
        (12, "java\0-Xmx1g\0org.apache.hadoop.hbase.regionserver.HRegionServer\0start\0"),
        (7, "sh\0"),
    ):
        (tmp_path / str(pid)).mkdir()
        (tmp_path / str(pid) / "cmdline").write_text(command)
        (tmp_path / str(pid) / "limits").write_text("Max open files            131072  131072  files\n")
    process = runpy.run_path(str(PROGRAM))["region_server"](tmp_path)
    assert (process["pid"], process["user"]) == (12, getpass.getuser())
    assert (process["open_files"], process["processes"]) == (131072, None)
    assert "-Xmx1g" in process["arguments"]


def test_only_debug_lines_of_the_allocator_count(tmp_path: Path) -> None:
    logs = runpy.run_path(str(PROGRAM))["logs"]
    assert logs(tmp_path) == {"collector_bytes": None, "allocator_debug": False}
    (tmp_path / "regionserver-gc.log").write_text("[gc] x")
    own = tmp_path / "hbase-hbase-regionserver-ip-10-0-0-1.log"
    own.write_text("2026 INFO bucket.BucketAllocator: x\n2026 DEBUG bucket.BucketCache: x\n")
    assert logs(tmp_path) == {"collector_bytes": 6, "allocator_debug": False}
    own.write_text("2026 DEBUG [thread] bucket.BucketAllocator: statistics\n")
    assert logs(tmp_path)["allocator_debug"]


def test_an_owner_is_a_user_and_a_mode(tmp_path: Path) -> None:
    tmp_path.chmod(0o750)
    owner = runpy.run_path(str(PROGRAM))["owner"]
    assert owner(str(tmp_path)) == f"{getpass.getuser()} 750"
    assert owner(str(tmp_path / "none")) is None
