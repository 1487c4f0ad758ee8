"""The instance metadata service of one node, on a loopback port."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Final

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
