"""HTTP servers on loopback that fail as AWS does, or as a proxy in front of it does."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from msgspec import Struct, field

ACCOUNT = "123456789012"
PRINCIPAL = f"arn:aws:sts::{ACCOUNT}:assumed-role/Operator/me"
IDENTITY = (
    f"<GetCallerIdentityResponse><GetCallerIdentityResult><Arn>{PRINCIPAL}</Arn><UserId>AIDA:me</UserId>"
    f"<Account>{ACCOUNT}</Account></GetCallerIdentityResult></GetCallerIdentityResponse>"
)
SIGNED_FOR = re.compile(r"Credential=[^/]+/\d+/[\w-]+/([\w-]+)/aws4_request")
JSON_SERVICES = {"elasticmapreduce", "ssm", "servicequotas", "pricing", "monitoring"}
PAGE = b"<!DOCTYPE html><html><body>Welcome to the printer</body></html>"
TURN_SECONDS = 0.05


class Answer(Struct, frozen=True, dict=True):
    """An HTTP answer: status, content type and body."""

    status: int
    content_type: str
    body: bytes
    missing_bytes: int = 0
    """The number of bytes that the answer announces but does not send."""


Fail = Callable[[str], Answer | None]
"""Returns the answer to a request of a service; None closes the connection without an answer."""


def refusal(status: int, code: str, message: str) -> Fail:
    """Return a function that answers with an error of AWS, in the format of the service."""

    def answer(service: str) -> Answer:
        if service in JSON_SERVICES:
            text = json.dumps({"__type": f"com.amazon#{code}", "message": message})
            return Answer(status, "application/x-amz-json-1.1", text.encode())
        error = f"<Error><Code>{code}</Code><Message>{message}</Message></Error>"
        form = {"ec2": f"<Response><Errors>{error}</Errors></Response>", "s3": error}
        return Answer(status, "text/xml", form.get(service, f"<ErrorResponse>{error}</ErrorResponse>").encode())

    return answer


def fixed(status: int, content_type: str, body: bytes) -> Fail:
    """Return a function that answers every request alike."""
    return lambda _: Answer(status, content_type, body)


def broken_off(_: str) -> Answer:
    """Return an answer whose connection ends before its body is complete."""
    return Answer(200, "text/xml", b"<GetCaller", missing_bytes=100)


def silence(_: str) -> Answer | None:
    """Wait longer than any client of the tests does."""
    threading.Event().wait(5)
    return None


class FailingAws(Struct, dict=True):
    """A server, and the requests to it by service. `fail` is replaced while it runs; None is a healthy STS."""

    url: str
    fail: Fail
    answers_identity: bool
    services: list[str] = field(default_factory=list)


@contextmanager
def failing_aws(fail: Fail, *, answers_identity: bool = False, port: int = 0) -> Iterator[FailingAws]:
    """Serve failures on a port of 127.0.0.1, or a free one; with `answers_identity`, GetCallerIdentity succeeds."""
    aws = FailingAws(url="", fail=fail, answers_identity=answers_identity)

    class Handler(BaseHTTPRequestHandler):
        def _answer(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            signed = SIGNED_FOR.search(self.headers.get("Authorization") or "")
            service = signed[1] if signed else ""
            aws.services.append(service)
            is_identity = service == "sts" and aws.answers_identity
            answer = Answer(200, "text/xml", IDENTITY.encode()) if is_identity else aws.fail(service)
            self.close_connection = True
            if answer is None:
                return
            self.send_response(answer.status)
            self.send_header("Content-Type", answer.content_type)
            self.send_header("Content-Length", str(len(answer.body) + answer.missing_bytes))
            if answer.missing_bytes:
                self.send_header("ETag", '"of an object of S3"')
            self.end_headers()
            if self.command != "HEAD":
                with suppress(BrokenPipeError):  # the client did not wait
                    self.wfile.write(answer.body)

        do_GET = do_POST = do_PUT = do_HEAD = do_DELETE = _answer  # noqa: N815 - http.server's names

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - http.server's signature
            del format, args

    server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
    server.daemon_threads, server.block_on_close = True, False
    aws.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, args=(TURN_SECONDS,), daemon=True)
    thread.start()
    try:
        yield aws
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
