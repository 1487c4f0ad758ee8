"""Primary nodes of local clusters, as far as the claim and steps need them: uploaded scripts really run.

Nothing else of a node is there: `hbase` and `hdfs` are stubs that say what quiet ones would. What runs has files of its
own, this machine's with an overlay, in a mount namespace; what it writes is gone with it. Where it asks AWS, wrappers
of `aws` and of the system's Python lead it to this local AWS: neither an action nor its program knows. What it says is
kept where EMR keeps it, below the cluster's log URI.
"""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any, Final

from local_aws import api

CLAIM: Final = "claim-root"
"""The only action that runs: the others set up a node, and there is none."""
# judgement: a claim takes four requests, and at most eight attempts one second apart.
ACTION_SECONDS: Final = 60.0

NAMESPACE: Final = """
set -e
mount -t tmpfs tmpfs "$0/tree"
mkdir "$0/tree/upper" "$0/tree/work" "$0/tree/root"
cp -a "$0/files/." "$0/tree/upper"
mount -t overlay overlay -o "lowerdir=/,upperdir=$0/tree/upper,workdir=$0/tree/work" "$0/tree/root"
mount --rbind /dev "$0/tree/root/dev"
mount -t proc proc "$0/tree/root/proc"
exec chroot "$0/tree/root" env -i PATH=/stubs:/usr/local/bin:/usr/bin:/bin bash /action.sh "$@"
"""
FETCH: Final = """#!{python} -I
# aws s3 cp --only-show-errors s3://BUCKET/KEY FILE, or - s3://BUCKET/KEY, and aws emr describe-cluster --cluster-id ID
# are the only calls that it needs to answer. Nobody checks the signature.
import json, shutil, sys, urllib.request, urllib.error
source, file = sys.argv[-2:]
said = "AWS4-HMAC-SHA256 Credential=local/20200101/{region}/%s/aws4_request, SignedHeaders=host, Signature=local"
if sys.argv[1] == "emr":
    headers = {{"Authorization": said % "elasticmapreduce", "X-Amz-Target": "ElasticMapReduce.DescribeCluster",
        "Content-Type": "application/x-amz-json-1.1"}}
    asked = urllib.request.Request("{endpoint}/", data=json.dumps({{"ClusterId": file}}).encode(), headers=headers)
    try:
        sys.stdout.write(urllib.request.urlopen(asked, timeout=20).read().decode())
    except urllib.error.HTTPError as error:
        why = json.loads(error.read())
        said = why.get("message") or why.get("Message")
        sys.exit(f"An error occurred ({{why['__type']}}) when calling DescribeCluster: {{said}}")
    sys.exit()
at = "{endpoint}/" + (file if source == "-" else source).removeprefix("s3://")
body = sys.stdin.buffer.read() if source == "-" else None
headers = {{"Authorization": said % "s3", "Content-Type": "application/octet-stream"}}
asked = urllib.request.Request(at, data=body, headers=headers, method="PUT" if body else "GET")
with urllib.request.urlopen(asked, timeout=20) as answer:
    if source != "-":
        with open(file, "wb") as kept:
            shutil.copyfileobj(answer, kept)
"""
STUBS: Final = Path(__file__).parent / "stubs"
SENT: Final = """#!/bin/bash
export STATE={state}
exec bash -c "$(cat /step.sh)" "$@"
"""
SYSTEM_PYTHON: Final = """#!/bin/sh
exec {python} -E "$@" --metadata={metadata} --s3={endpoint} --emr={endpoint} --wait-seconds=0.1
"""

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


def unavailable() -> str | None:
    """Return why no action can run on this machine, found by running one that does nothing; None where it can."""
    with tempfile.TemporaryDirectory(prefix="warmbase-node-") as directory:
        process = _in_namespace(Path(directory), {"action.sh": (b"exit 0", 0o755)}, [])
    return process.stderr.strip() or "it ended with another status" if process.returncode else None


def run_on_primaries(cluster_id: str, region: str, launch: Mapping[str, Any], primaries: int) -> None:
    """Run the claim of a cluster on each primary. Raises Failed for the first that does not succeed.

    Raises RuntimeError in a process that serves nothing.
    """
    if not _endpoint:
        raise RuntimeError("bootstrap actions run only where the local AWS is served: python -m local_aws")
    for number, action in enumerate(launch.get("BootstrapActions", []), 1):
        if action["Name"] != CLAIM:
            continue
        script = action["ScriptBootstrapAction"]
        for primary in range(primaries):
            instance = f"i-{cluster_id.removeprefix('j-').lower():0>15}{primary}"
            process = _run(cluster_id, region, instance, script["Path"], script.get("Args", []))
            _keep(
                launch.get("LogUri"), region, f"{cluster_id}/node/{instance}/bootstrap-actions/{number}", process.stderr
            )
            if process.returncode:
                raise Failed(instance, number)


def run_step(
    region: str, arguments: Sequence[str], state: str, log: tuple[str, str] | None, *, stopped: bool = False
) -> bool:
    """Run `bash -c SCRIPT NAME ARGUMENT...` on the primary, keep its stderr at `log`, and return whether it succeeded.

    `state` is what is wrong with the HBase there, which may have been stopped by a step before. Raises RuntimeError in
    a process that serves nothing, ValueError for another command.
    """
    if not _endpoint:
        raise RuntimeError("steps run only where the local AWS is served: python -m local_aws")
    if tuple(arguments[:2]) != ("bash", "-c"):
        raise ValueError(f"the local AWS runs no {' '.join(arguments[:2])}")
    filled = {"region": region, "python": str(Path(sys.executable).resolve()), "endpoint": _endpoint[0]}
    files = {
        "action.sh": (SENT.format(state=state).encode(), 0o755),
        "step.sh": (arguments[2].encode(), 0o644),
        "stubs/aws": (FETCH.format(**filled).encode(), 0o755),
        **{f"stubs/{path.name}": (path.read_bytes(), 0o755) for path in STUBS.iterdir()},
        "usr/lib/hbase/bin/disable_all_tables.sh": (b"", 0o755),
    }
    if stopped:
        files["tmp/hbase-has-stopped"] = (b"", 0o644)
    with tempfile.TemporaryDirectory(prefix="warmbase-step-") as directory:
        process = _in_namespace(Path(directory), files, arguments[3:])
    if log is not None:
        bucket, key = log
        api.call("s3", region, "put_object", Bucket=bucket, Key=key, Body=gzip.compress(process.stderr.encode()))
    return process.returncode == 0


def _run(
    cluster_id: str, region: str, instance: str, path: str, arguments: list[str]
) -> subprocess.CompletedProcess[str]:
    bucket, _, key = path.removeprefix("s3://").partition("/")
    script = api.call("s3", region, "get_object", Bucket=bucket, Key=key)["Body"].read()
    identity = {"accountId": api.ACCOUNT, "region": region, "instanceId": instance}
    with tempfile.TemporaryDirectory(prefix="warmbase-node-") as directory, instance_metadata(identity) as metadata:
        python = str(Path(sys.executable).resolve())
        filled = {"region": region, "python": python, "endpoint": _endpoint[0], "metadata": metadata}
        files = {
            "action.sh": (script, 0o755),
            "mnt/var/lib/info/instance.json": (b'{"isMaster": true}', 0o644),
            "mnt/var/lib/info/job-flow.json": (json.dumps({"jobFlowId": cluster_id}).encode(), 0o644),
            "stubs/aws": (FETCH.format(**filled).encode(), 0o755),
            "usr/bin/python3": (SYSTEM_PYTHON.format(**filled).encode(), 0o755),
        }
        return _in_namespace(Path(directory), files, arguments)


def _in_namespace(
    place: Path, files: Mapping[str, tuple[bytes, int]], arguments: Sequence[str]
) -> subprocess.CompletedProcess[str]:
    """Run /action.sh over this machine's files with these files added, each with its mode."""
    (place / "tree").mkdir()
    for name, (content, mode) in files.items():
        file = place / "files" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
        file.chmod(mode)
    command = ["unshare", "--mount", "--propagation", "private", "sh", "-c", NAMESPACE, str(place), *arguments]
    return subprocess.run(
        command, capture_output=True, text=True, timeout=ACTION_SECONDS, check=False, stdin=subprocess.DEVNULL
    )


def _keep(log_uri: str | None, region: str, name: str, output: str) -> None:
    """Store the output as EMR does: compressed, below the cluster's log URI."""
    if log_uri:
        bucket, _, prefix = log_uri.removeprefix("s3://").partition("/")
        body = gzip.compress(output.encode())
        api.call("s3", region, "put_object", Bucket=bucket, Key=f"{prefix}{name}/stderr.gz", Body=body)


HOST: Final = "127.0.0.1"
TOKEN: Final = "local"  # noqa: S105 - a dummy: nothing checks it
CREDENTIALS: Final = {"AccessKeyId": "local", "SecretAccessKey": "local", "Token": "local"}
STOP_SECONDS: Final = 5.0


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
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://{HOST}:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join(STOP_SECONDS)
