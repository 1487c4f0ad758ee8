"""The services that programs on a node ask: the instance's metadata, S3 with conditional writes, EMR, CloudWatch.

One server for all, by path. S3 is as strict as AWS: a condition is looked at and the object written under one lock.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qsl, unquote

from msgspec import Struct, field

from tests.patience import HANG_SECONDS
from warmbase.configurations.bootstrap import program

TOKEN = "metadata-token"
TURN_SECONDS = 0.01
"""How often a server sees that it is to end; that of `http.server`, half a second, was most of the time of a test."""
CREDENTIALS = {"AccessKeyId": "AKIATEST", "SecretAccessKey": "secret", "Token": "session"}


class Services(Struct, dict=True):
    """The state of the services, the requests they received, and their faults. They listen on `port`."""

    port: int = 0
    account: str = "123456789012"
    region: str = "us-east-1"
    objects: dict[str, bytes] = field(default_factory=dict)
    encrypted: dict[str, str] = field(default_factory=dict)
    """The key that a writer asked for, by object."""
    states: dict[str, str] = field(default_factory=dict)
    """The states of EMR's clusters; EMR knows no other cluster."""
    published: list[dict[str, str]] = field(default_factory=list)
    requests: list[tuple[str, str, dict[str, str]]] = field(default_factory=list)
    """Method, path and headers of each request, with their names in lower case."""
    signed: list[str] = field(default_factory=list)
    faults: list[tuple[str, int, str]] = field(default_factory=list)
    """Answers (service, status, body) that come instead of the real ones, each once, in this order."""
    bean: dict[str, object] | None = None
    """The counters of the RegionServer on this node; None while no RegionServer runs."""
    configuration: str | None = None
    """The page with the configuration of a daemon of HBase on this node; None while none runs."""
    trino: dict[str, dict[str, object]] | None = None
    """The attributes of the beans of the Trino worker on this node, by name; None while it starts."""
    meta: bool = False
    """True where the RegionServer serves hbase:meta."""
    before_put: Callable[[], None] | None = None
    """Called once, before the next write is looked at."""
    lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def url(self) -> str:
        """Return the URL on which they listen."""
        return f"http://127.0.0.1:{self.port}"

    def sent(self, field: str = "Value") -> dict[str, str]:
        """Return a field of each metric of the last request to CloudWatch, by the metric's name."""
        last = self.published[-1]
        numbers = {key.split(".")[2] for key in last if key.startswith("MetricData.member.")}
        return {last[f"MetricData.member.{n}.MetricName"]: last[f"MetricData.member.{n}.{field}"] for n in numbers}

    def figures(self) -> dict[str, float]:
        """Return the figures of the last request to CloudWatch, by name."""
        return {name: float(value) for name, value in self.sent().items()}

    def fault(self, service: str) -> tuple[int, str] | None:
        """Return the next fault of that service, once."""
        for place, (name, status, body) in enumerate(self.faults):
            if name == service:
                del self.faults[place]
                return status, body
        return None


def run_program(
    name: str, *arguments: str, environment: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a program of a node; if an argument is passed twice, the last one counts."""
    command = [sys.executable, str(program(name)), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=HANG_SECONDS, env=environment)


@contextmanager
def services() -> Iterator[Services]:
    """Run the services until the block ends."""
    held = Services()
    server = ThreadingHTTPServer(("127.0.0.1", 0), lambda *arguments: Handler(held, *arguments))
    held.port = server.server_port
    thread = threading.Thread(target=server.serve_forever, args=(TURN_SECONDS,), daemon=True)
    thread.start()
    try:
        yield held
    finally:
        server.shutdown()
        server.server_close()
        thread.join(10)


class Handler(BaseHTTPRequestHandler):
    """Answers one request to any of the services."""

    def __init__(self, held: Services, *arguments: object) -> None:
        self.held = held
        super().__init__(*arguments)  # type: ignore[arg-type]

    def parse_request(self) -> bool:
        """Keep what each request says of itself."""
        whole = super().parse_request()
        if whole:
            headers = {name.lower(): value for name, value in self.headers.items()}
            self.held.requests.append((self.command, self.path, headers))
        return whole

    def log_message(self, *_: object) -> None:
        """Prints nothing."""

    def do_GET(self) -> None:
        """Metadata, what a RegionServer says, or an object."""
        if self.path.startswith("/latest/"):
            self.metadata()
        elif self.path.startswith("/jmx?get="):
            attribute = unquote(self.path).partition("::")[2]
            there = {"beans": [{"name": "sub=Regions", attribute: 1}]}
            missing = {"result": f"ERROR: No attribute with name {attribute} was found."}
            self.say(200, json.dumps(there if self.held.meta else missing))
        elif self.path.startswith("/jmx?qry="):
            self.say(200, json.dumps({"beans": [] if self.held.bean is None else [self.held.bean]}))
        elif self.path == "/conf?format=json" and self.held.configuration is not None:
            self.say(200, self.held.configuration)
        elif self.path == "/v1/info" and self.held.trino is not None:
            version = {"nodeVersion": {"version": "476-amzn-1"}, "environment": "emr", "uptime": "1.39m"}
            self.say(200, json.dumps({**version, "coordinator": False, "starting": False}))
        elif self.path.startswith("/v1/jmx/mbean/"):
            self.trino_bean(unquote(self.path.removeprefix("/v1/jmx/mbean/")))
        elif (fault := self.held.fault("s3")) is not None:
            self.say(*fault)
        elif (found := self.held.objects.get(self.path)) is None:
            self.say(404, "<Code>NoSuchKey</Code>")
        else:
            self.say(200, found.decode(), etag=etag(found))

    def do_PUT(self) -> None:
        """Return a token, or an object on a condition."""
        body = self.body()
        if self.path == "/latest/api/token":
            self.say(200, TOKEN)
            return
        self.held.signed.append(self.headers["Authorization"])
        if self.held.before_put is not None:
            before, self.held.before_put = self.held.before_put, None
            before()
        if (fault := self.held.fault("s3")) is not None:
            self.say(*fault)
            return
        with self.held.lock:
            self.say(*self.write(body))

    def write(self, body: bytes) -> tuple[int, str]:
        """As S3 does; the caller holds the lock."""
        found = self.held.objects.get(self.path)
        wanted = self.headers.get("If-Match")
        if wanted is not None and found is None:
            return 404, "<Code>NoSuchKey</Code>"
        if wanted is not None and found is not None and wanted != etag(found):
            return 412, "<Code>PreconditionFailed</Code>"
        if self.headers.get("If-None-Match") == "*" and found is not None:
            return 412, "<Code>PreconditionFailed</Code>"
        self.held.objects[self.path] = body
        if key := self.headers.get("x-amz-server-side-encryption-aws-kms-key-id"):
            self.held.encrypted[self.path] = key
        return 200, ""

    def do_POST(self) -> None:
        """Answers a request to EMR or CloudWatch."""
        body = self.body()
        self.held.signed.append(self.headers["Authorization"])
        if self.headers.get("X-Amz-Target") == "ElasticMapReduce.DescribeCluster":
            self.describe_cluster(json.loads(body)["ClusterId"])
        elif (fault := self.held.fault("cloudwatch")) is not None:
            self.say(*fault)
        else:
            self.held.published.append(dict(parse_qsl(body.decode())))
            self.say(200, "<PutMetricDataResponse/>")

    def describe_cluster(self, cluster: str) -> None:
        """As EMR does."""
        if (fault := self.held.fault("emr")) is not None:
            self.say(*fault)
        elif (state := self.held.states.get(cluster)) is None:
            message = f"Cluster id '{cluster}' is not valid."
            self.say(400, json.dumps({"__type": "InvalidRequestException", "Message": message}))
        else:
            self.say(200, json.dumps({"Cluster": {"Id": cluster, "Status": {"State": state}}}))

    def metadata(self) -> None:
        """As the instance has it, with a token."""
        identity = {"accountId": self.held.account, "region": self.held.region, "instanceId": "i-1"}
        known = {
            "dynamic/instance-identity/document": json.dumps(identity),
            "meta-data/services/domain": "amazonaws.com",
            "meta-data/iam/security-credentials/": "node",
            "meta-data/iam/security-credentials/node": json.dumps(CREDENTIALS),
        }
        if self.headers.get("X-aws-ec2-metadata-token") != TOKEN:
            self.say(401, "no token")
        else:
            self.say(200, known[self.path.removeprefix("/latest/")])

    def trino_bean(self, name: str) -> None:
        """As Trino 476 does."""
        if self.headers.get("X-Trino-User") is None:
            self.say(401, "Basic authentication or X-Trino-User must be sent")
        elif self.held.trino is None:
            self.say(503, "Error 503 Service Unavailable: Trino server is still initializing")
        elif (bean := self.held.trino.get(name)) is None:
            self.say(500, f"javax.management.InstanceNotFoundException: {name}\n\tat java.management/com.sun.jmx")
        else:
            attributes = [{"name": name, "readable": True, "value": value} for name, value in bean.items()]
            unreadable = {"name": "ObjectName", "readable": False}
            self.say(200, json.dumps({"objectName": name, "attributes": [*attributes, unreadable]}))

    def body(self) -> bytes:
        """Return what was sent."""
        return self.rfile.read(int(self.headers.get("Content-Length") or 0))

    def say(self, status: int, text: str, **headers: str) -> None:
        """Sends the answer."""
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(text.encode())))
        self.end_headers()
        self.wfile.write(text.encode())


def etag(content: bytes) -> str:
    return f'"{hashlib.sha256(content).hexdigest()[:32]}"'
