"""Programs of a local cluster's nodes, which run on this machine: the harvest and the claim of a launch, and steps.

There is no node. A program runs as the user of the local AWS, with the directories of a node inside a temporary one,
and with stand-ins of `aws`, `hbase`, `hdfs` and `systemctl` first on its PATH: `stand-ins/`. They answer like a small
quiet HBase with two tables, whose names begin with `stand-in`, and with a RegionServer on each core node.
`instance_metadata` serves the metadata of one node on a loopback port.
"""

from __future__ import annotations

import gzip
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any, Final

from msgspec import Struct, field

from local_aws import controls, moto_internals
from local_aws.emr import simulated_hbase
from warmbase.configurations.bootstrap import DIRECTORY
from warmbase.configurations.node_files import INDEX_FILE

HOST: Final = "127.0.0.1"
TOKEN: Final = "local"  # noqa: S105 - a dummy: nothing checks it
CREDENTIALS: Final = {"AccessKeyId": "local", "SecretAccessKey": "local", "Token": "local"}
STOP_SECONDS: Final = 5.0
# How long the end of the block waits at most for the server to notice it.
TURN_SECONDS: Final = 0.01


@contextmanager
def instance_metadata(identity: Mapping[str, str]) -> Iterator[str]:
    """Serve the identity document on a free loopback port until the block ends; yield the address."""
    documents = {
        "/latest/dynamic/instance-identity/document": json.dumps(dict(identity)),
        "/latest/meta-data/services/domain": "amazonaws.com",
        "/latest/meta-data/iam/security-credentials/": "node",
        "/latest/meta-data/iam/security-credentials/node": json.dumps(CREDENTIALS),
    }

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

        def do_PUT(self) -> None:
            self._answer(HTTPStatus.OK if self.path == "/latest/api/token" else HTTPStatus.NOT_FOUND, TOKEN)

        def do_GET(self) -> None:
            if self.headers.get("X-aws-ec2-metadata-token") != TOKEN:
                self._answer(HTTPStatus.UNAUTHORIZED, "")
            else:
                self._answer(
                    HTTPStatus.OK if self.path in documents else HTTPStatus.NOT_FOUND, documents.get(self.path, "")
                )

        def _answer(self, status: HTTPStatus, text: str) -> None:
            self.send_response(status)
            self.send_header("Content-Length", str(len(text.encode())))
            self.end_headers()
            self.wfile.write(text.encode())

    server = ThreadingHTTPServer((HOST, 0), Handler)
    thread = Thread(target=server.serve_forever, args=(TURN_SECONDS,), daemon=True)
    thread.start()
    try:
        yield f"http://{HOST}:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join(STOP_SECONDS)


ACTIONS: Final = frozenset({"claim-root", "harvest-node"})
"""The only actions that run: the others set up a node, and there is none."""
# judgement: a program takes seconds at most; this ends only what hangs, even on a busy machine.
PROGRAM_SECONDS: Final = 600.0
# judgement: most programs have ended by then, so that what they did is seen at once; a client waits 20 s for an answer.
ANSWER_SECONDS: Final = 5.0
STAND_INS: Final = Path(__file__).parent / "stand-ins"
NOTE: Final = "local AWS: no HBase runs here; hbase, hdfs and aws are stand-ins (local_aws/emr/stand-ins)\n"
NODE_PATHS: Final = (
    "/etc/hadoop",
    "/etc/hbase",
    "/etc/puppet",
    "/etc/systemd",
    "/etc/warmbase",
    "/etc/zookeeper",
    "/mnt/var/lib/info",
    "/usr/bin/python3",
    "/usr/lib/hbase",
    "/usr/lib/systemd",
    "/usr/local/lib/warmbase",
    "/var/aws",
    "/var/lib/cloud",
    "/var/lib/warmbase",
    "/var/log/hbase",
    "/warmbase/cache",
)
"""Paths that exist only on a node. They lead into the temporary directory."""
ROOT: Final = "@node@"
"""Stands for the temporary directory in a text that the local AWS itself writes."""
AS_ROOT: Final = ("((EUID != 0))", "((0))")
"""An action continues as root on a node; in the temporary directory any user may write."""
MARK: Final = "hbase-"
"""The stand-ins remember what earlier steps have done by files whose names begin so."""
SYSTEM_PYTHON: Final = """#!/bin/sh
exec {python} -E "$@" --metadata={metadata} --s3={endpoint} --emr={endpoint} --job-flow={job_flow} --wait-seconds=0.1
"""

INDEX_AGE_SECONDS: Final = 40
GUARD: Final = "before_regionserver.py"

_endpoint: list[str] = []


class Failed(Exception):
    """A bootstrap action that ended with another status than 0, with EMR's own message."""

    def __init__(self, instance: str, number: int) -> None:
        super().__init__(
            f"On the master instance ({instance}), bootstrap action {number} returned a non-zero return code"
        )


def serve_at(endpoint: str) -> None:
    """Set the address at which this process answers; without it no node can reach the local AWS."""
    _endpoint[:] = [endpoint]


def has_nodes() -> bool:
    """Return whether programs of nodes run: where the local AWS is served, and on Linux, for which they are written."""
    return bool(_endpoint) and sys.platform == "linux"


class ProgramEnd(Struct, frozen=True, kw_only=True):
    """The end of a program: whether it succeeded, what it printed, and what it wrote to stderr."""

    succeeded: bool
    printed: str
    log: str


class SimulatedHBase(Struct, frozen=True, kw_only=True):
    """The HBase of one cluster, as its nodes see it.

    `state` says what is wrong with it, `hosts` are the nodes of its RegionServers, and `marks` are the files by which
    the stand-ins remember what earlier programs have done.
    """

    state: str = "well"
    hosts: tuple[str, ...] = ()
    marks: dict[str, str] = field(default_factory=dict)


class Node(Struct, frozen=True, kw_only=True):
    """A node in a temporary directory, in one region; `host` is its name where a RegionServer runs on it."""

    root: Path
    region: str
    hbase: SimulatedHBase
    host: str = ""

    def put(self, name: str, content: str | bytes, mode: int = 0o644) -> None:
        """Write a file of the node."""
        file = self.root / name.lstrip("/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content if isinstance(content, bytes) else content.encode())
        file.chmod(mode)

    def run(self, script: str, *arguments: str) -> ProgramEnd:
        """Run a bash script with this name and these arguments."""
        # In one pass: one of these paths ends like the beginning of another.
        script = re.sub("|".join(NODE_PATHS), lambda path: f"{self.root}{path[0]}", script)
        programs = (str(STAND_INS), str(Path(sys.executable).parent), "/usr/local/bin", "/usr/bin", "/bin")
        variables = {
            "PATH": os.pathsep.join(programs),
            "TMPDIR": str(self.root / "tmp"),
            "STATE": self.hbase.state,
            "HOST": self.host,
            "READINGS": "worse" if controls.are_worse() else "usual",
            "AWS_ENDPOINT_URL": _endpoint[0],
            "AWS_REGION": self.region,
        }
        if self.hbase.hosts:
            variables["SERVERS"] = " ".join(self.hbase.hosts)
        try:
            process = subprocess.run(
                ["bash", "-c", script, *arguments],  # noqa: S607 - whichever bash the machine has
                env=variables,
                capture_output=True,
                text=True,
                timeout=PROGRAM_SECONDS,
                check=False,
                stdin=subprocess.DEVNULL,
            )
        except subprocess.TimeoutExpired:
            log = f"{NOTE}the local AWS ended this program after {PROGRAM_SECONDS:g} s\n"
            return ProgramEnd(succeeded=False, printed="", log=log)
        return ProgramEnd(
            succeeded=process.returncode == 0,
            printed=process.stdout.replace(str(self.root), ""),
            log=NOTE + process.stderr.replace(str(self.root), ""),
        )


@contextmanager
def _node(region: str, hbase: SimulatedHBase, host: str = "") -> Iterator[Node]:
    """Make the directories of a node, with what earlier programs have left of its HBase, and keep what is there."""
    with tempfile.TemporaryDirectory(prefix="warmbase-node-") as directory:
        node = Node(root=Path(directory), region=region, hbase=hbase, host=host)
        (node.root / "tmp").mkdir()
        for mark, content in hbase.marks.items():
            node.put(f"tmp/{mark}", content)
        yield node
        hbase.marks.update(
            {file.name: file.read_text(encoding="utf-8") for file in (node.root / "tmp").glob(f"{MARK}*")}
        )


def run_beside(programs: Callable[[], None]) -> Thread:
    """Run programs of nodes, and return when they have ended, or after ANSWER_SECONDS while they go on."""
    thread = Thread(target=programs, daemon=True)
    thread.start()
    thread.join(ANSWER_SECONDS)
    return thread


def run_on_primaries(cluster_id: str, region: str, launch: Mapping[str, Any], primaries: int) -> None:
    """Run these actions of a cluster on each primary. Raises Failed for the first that does not succeed."""
    for number, action in enumerate(launch.get("BootstrapActions", []), 1):
        if action["Name"] not in ACTIONS:
            continue
        for primary in range(primaries):
            instance = f"i-{cluster_id.removeprefix('j-').lower():0>15}{primary}"
            script = action["ScriptBootstrapAction"]
            bucket, _, key = script["Path"].removeprefix("s3://").partition("/")
            text = moto_internals.call("s3", region, "get_object", Bucket=bucket, Key=key)["Body"].read().decode()
            identity = {"accountId": moto_internals.ACCOUNT, "region": region, "instanceId": instance}
            with _node(region, SimulatedHBase()) as node, instance_metadata(identity) as metadata:
                job_flow = "/mnt/var/lib/info/job-flow.json"
                python = SYSTEM_PYTHON.format(
                    python=sys.executable, metadata=metadata, endpoint=_endpoint[0], job_flow=f"{node.root}{job_flow}"
                )
                node.put("/usr/bin/python3", python, 0o755)
                node.put("/mnt/var/lib/info/instance.json", '{"isMaster": true}')
                node.put(job_flow, json.dumps({"jobFlowId": cluster_id}))
                node.put("/var/lib/cloud/data/instance-id", f"{instance}\n")
                end = node.run(text.replace(*AS_ROOT), action["Name"], *script.get("Args", []))
            log = f"{cluster_id}/node/{instance}/bootstrap-actions/{number}"
            _store(region, launch.get("LogUri"), log, end.log)
            if not end.succeeded:
                raise Failed(instance, number)


def run_step(region: str, hbase: SimulatedHBase, arguments: Sequence[str], log_uri: str | None, log: str) -> bool:
    """Run `bash -c SCRIPT NAME ARGUMENT...`, store its stderr where EMR does, and return whether it succeeded."""
    with _node(region, hbase) as node:
        disable = STAND_INS / "disable_all_tables.sh"
        node.put("/usr/lib/hbase/bin/disable_all_tables.sh", disable.read_text(encoding="utf-8"), 0o755)
        end = node.run(*arguments[2:])
    _store(region, log_uri, log, end.log)
    return end.succeeded


def run_on_core_node(region: str, hbase: SimulatedHBase, host: str, text: str, files: Mapping[str, str]) -> ProgramEnd:
    """Run a shell text as Systems Manager does, on a node that warmbase's actions have set up for a RegionServer."""
    with _node(region, hbase, host) as node:
        for name, content in files.items():
            node.put(name, content)
        node.put("/usr/bin/python3", f'#!/bin/sh\nexec {sys.executable} "$@"\n', 0o755)
        guard = (DIRECTORY / "programs" / GUARD).read_text(encoding="utf-8")
        node.put(f"/usr/local/lib/warmbase/{GUARD}", guard)
        node.put("/etc/systemd/system/hbase-regionserver.service.d/10-warmbase.conf", "")
        node.put("/var/lib/warmbase/cache-counters.json", json.dumps({"at": time.time(), "changed_at": None}))
        if hbase.state != "unready":
            servers = [f"{name}:{simulated_hbase.PORT}" for name in hbase.hosts]
            index = simulated_hbase.persisted_index(servers, f"{host}:{simulated_hbase.PORT}")
            node.put(INDEX_FILE, index)
            written = time.time() - INDEX_AGE_SECONDS
            os.utime(node.root / INDEX_FILE.lstrip("/"), (written, written))
        return node.run(text.replace(ROOT, str(node.root)), "_script.sh")


def _store(region: str, log_uri: str | None, name: str, output: str) -> None:
    """Store the output as EMR does: compressed, below the cluster's log URI."""
    if log_uri:
        bucket, _, prefix = log_uri.removeprefix("s3://").partition("/")
        body = gzip.compress(output.encode())
        moto_internals.call("s3", region, "put_object", Bucket=bucket, Key=f"{prefix}{name}/stderr.gz", Body=body)
