"""Sends requests to AWS as the node's role, with IMDSv2, Signature Version 4 and the standard library. Python 3.9.

Source: Amazon EC2 User Guide, "Use the Instance Metadata Service"; AWS Identity and Access Management User Guide,
"Create a signed AWS API request". The AWS CLI on the node is too old for conditional writes, and no document says when
AWS renews it; the system's Python is enough.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Mapping
from datetime import datetime, timezone
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from pathlib import Path
from socket import SHUT_RDWR
from threading import Timer
from typing import NamedTuple
from urllib.parse import quote, urlencode, urlsplit

NAMESPACE = "warmbase"
METADATA = "http://169.254.169.254"
TOKEN_SECONDS = 300
# judgement: S3 and CloudWatch answer in tens of milliseconds; a node without a route must fail instead of hanging.
ANSWER_SECONDS = 20.0
METADATA_SECONDS = 5.0
# judgement: the longest answer that a program here needs is a bean of some 100 KiB; more would only fill the memory.
LONGEST_BYTES = 4 << 20
READ_BYTES = 1 << 16


class Unanswered(Exception):
    """A service that did not answer, or answered without what is needed; the message names it."""


class Answer(NamedTuple):
    """A service's answer, with the names of headers in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class Credentials(NamedTuple):
    """The credentials of the role, as the instance metadata has them."""

    access_key: str
    secret_key: str
    token: str


class Request(NamedTuple):
    """One request, before it is signed. `url` is the whole URL, with its query already encoded."""

    method: str
    url: str
    headers: Mapping[str, str]
    body: bytes = b""


class Identity(NamedTuple):
    """The instance as its own identity document has it."""

    account: str
    region: str
    instance: str


class Figure(NamedTuple):
    """One metric of one minute."""

    name: str
    value: float
    unit: str


class MetricData(NamedTuple):
    """The figures of one minute, and the cluster and instance that they belong to."""

    figures: list[Figure]
    dimensions: Mapping[str, str]
    at: datetime


class Metadata:
    """The instance's metadata service, version 2."""

    def __init__(self, url: str = METADATA) -> None:
        self._url = url
        request = Request(
            "PUT", f"{url}/latest/api/token", {"x-aws-ec2-metadata-token-ttl-seconds": str(TOKEN_SECONDS)}
        )
        self._token = _body(request, METADATA_SECONDS).decode()

    def text(self, path: str) -> str:
        """Return the text at that path. Raises Unanswered where there is none."""
        request = Request("GET", f"{self._url}/latest/{path}", {"x-aws-ec2-metadata-token": self._token})
        return _body(request, METADATA_SECONDS).decode()

    def identity(self) -> Identity:
        """Return account, region and id of the instance."""
        document = json.loads(self.text("dynamic/instance-identity/document"))
        return Identity(account=document["accountId"], region=document["region"], instance=document["instanceId"])

    def domain(self) -> str:
        """Return the domain of this partition's services: `amazonaws.com` outside China."""
        return self.text("meta-data/services/domain").strip()

    def credentials(self) -> Credentials:
        """Return the current credentials of the instance profile's role."""
        [role] = self.text("meta-data/iam/security-credentials/").split()
        keys = json.loads(self.text(f"meta-data/iam/security-credentials/{role}"))
        return Credentials(keys["AccessKeyId"], keys["SecretAccessKey"], keys["Token"])


def send(request: Request, seconds: float = ANSWER_SECONDS) -> Answer:
    """Return the service's answer, whatever its status. Raises Unanswered where there is none within that time."""
    url = urlsplit(request.url)
    kind = HTTPSConnection if url.scheme == "https" else HTTPConnection
    connection = kind(url.netloc, timeout=seconds)
    target = f"{url.path or '/'}?{url.query}" if url.query else url.path or "/"
    try:
        connection.connect()
        # The time limit of a socket starts anew with each byte, and a server may send one byte a second.
        end = Timer(seconds, connection.sock.shutdown, (SHUT_RDWR,))
        end.daemon = True
        end.start()
        try:
            connection.request(request.method, target, body=request.body, headers=dict(request.headers))
            response = connection.getresponse()
            body = _whole_body(response)
        finally:
            end.cancel()
        headers = {name.lower(): value for name, value in response.getheaders()}
        return Answer(response.status, headers, body)
    except (OSError, HTTPException) as fault:
        raise Unanswered(f"{request.method} {url.scheme}://{url.netloc}{url.path}: {fault!r}") from None
    finally:
        connection.close()


def _whole_body(response: HTTPResponse) -> bytes:
    """Return the body. Raises HTTPException if it is longer than any valid answer, or was cut off."""
    body = bytearray()
    while part := response.read(READ_BYTES):
        body += part
        if len(body) > LONGEST_BYTES:
            raise HTTPException(f"the answer is longer than {LONGEST_BYTES} bytes")
    if response.length:
        raise HTTPException(f"the answer ended {response.length} bytes early")
    return bytes(body)


def signed(request: Request, credentials: Credentials, region: str, service: str, now: datetime) -> Request:
    """Return the request with its Signature Version 4 headers."""
    url = urlsplit(request.url)
    stamp = now.astimezone(timezone.utc).strftime("%Y%m%dT%H%M%SZ")
    digest = hashlib.sha256(request.body).hexdigest()
    headers = {name.lower(): value.strip() for name, value in request.headers.items()}
    headers.update({"host": url.netloc, "x-amz-date": stamp, "x-amz-content-sha256": digest})
    headers["x-amz-security-token"] = credentials.token
    names = ";".join(sorted(headers))
    # S3 signs the path as it is sent; the other services are asked at "/".
    canonical = "\n".join(
        [
            request.method,
            url.path or "/",
            "&".join(sorted(url.query.split("&"))) if url.query else "",
            *(f"{name}:{headers[name]}" for name in sorted(headers)),
            "",
            names,
            digest,
        ]
    )
    scope = f"{stamp[:8]}/{region}/{service}/aws4_request"
    text = "\n".join(["AWS4-HMAC-SHA256", stamp, scope, hashlib.sha256(canonical.encode()).hexdigest()])
    key = f"AWS4{credentials.secret_key}".encode()
    for part in scope.split("/"):
        key = hmac.new(key, part.encode(), hashlib.sha256).digest()
    signature = hmac.new(key, text.encode(), hashlib.sha256).hexdigest()
    authorization = (
        f"AWS4-HMAC-SHA256 Credential={credentials.access_key}/{scope}, SignedHeaders={names}, Signature={signature}"
    )
    return Request(request.method, request.url, {**headers, "authorization": authorization}, request.body)


def node_dimensions(metadata: Metadata, job_flow: Path) -> dict[str, str]:
    """Return the dimensions of a node's figures; EMR writes the id of its cluster to `job_flow`."""
    cluster = json.loads(job_flow.read_text(encoding="utf-8"))["jobFlowId"]
    return {"ClusterId": cluster, "InstanceId": metadata.identity().instance}


def put_metrics(metadata: Metadata, url: str | None, data: MetricData) -> None:
    """Sends figures to CloudWatch, by its query protocol. Raises Unanswered where it does not accept them."""
    region = metadata.identity().region
    fields = {"Action": "PutMetricData", "Version": "2010-08-01", "Namespace": NAMESPACE}
    for number, figure in enumerate(data.figures, 1):
        member = f"MetricData.member.{number}"
        fields[f"{member}.MetricName"] = figure.name
        fields[f"{member}.Value"] = repr(float(figure.value))
        fields[f"{member}.Unit"] = figure.unit
        fields[f"{member}.Timestamp"] = data.at.strftime("%Y-%m-%dT%H:%M:%SZ")
        for place, (name, value) in enumerate(data.dimensions.items(), 1):
            fields[f"{member}.Dimensions.member.{place}.Name"] = name
            fields[f"{member}.Dimensions.member.{place}.Value"] = value
    url = url or f"https://monitoring.{region}.{metadata.domain()}"
    headers = {"Content-Type": "application/x-www-form-urlencoded; charset=utf-8"}
    request = Request("POST", url.rstrip("/") + "/", headers, urlencode(fields).encode())
    answer = send(signed(request, metadata.credentials(), region, "monitoring", data.at))
    if answer.status != 200:
        raise Unanswered(f"PutMetricData: {answer.status} {answer.body[:400].decode(errors='replace')}")


def path_of(key: str) -> str:
    """Return an object's key as a URL has it."""
    return quote(key, safe="/-_.~")


def _body(request: Request, seconds: float) -> bytes:
    answer = send(request, seconds)
    if answer.status != 200:
        start = answer.body[:200].decode(errors="replace")
        raise Unanswered(f"{request.method} {request.url}: {answer.status} {start}")
    return answer.body
