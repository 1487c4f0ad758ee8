"""Statements to Trino: pages of rows are followed to the last, and an error names its causes."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest

from lab.trino.cluster import TrinoClient
from warmbase.ground.errors import OperationFailed


@contextmanager
def answering(pages: list[dict[str, Any]]) -> Iterator[tuple[TrinoClient, list[tuple[str, str, str | None]]]]:
    """Run a server that gives these answers in order; yield a client and the requests that came."""
    requests: list[tuple[str, str, str | None]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.answer()

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            self.answer()

        def answer(self) -> None:
            requests.append((self.command, self.path, self.headers.get("X-Trino-Session")))
            text = json.dumps(pages[len(requests) - 1]).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        def log_message(self, *arguments: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield TrinoClient(port=server.server_port, session={"a": "1", "b": "2"}), requests
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def test_rows_of_every_page_are_returned() -> None:
    following = {"nextUri": "http://elsewhere:1/v1/statement/2"}
    with answering([following, following | {"data": [[1], [2]]}, {"data": [[3]]}]) as (client, requests):
        assert client.run("SELECT 1").rows == ((1,), (2,), (3,))
    assert requests == [
        ("POST", "/v1/statement", "a=1,b=2"),
        ("GET", "/v1/statement/2", "a=1,b=2"),
        ("GET", "/v1/statement/2", "a=1,b=2"),
    ]


def test_an_error_names_its_causes() -> None:
    causes = {"message": "outer", "failureInfo": {"message": "outer", "cause": {"message": "inner"}}}
    with answering([{"error": causes}]) as (client, _), pytest.raises(OperationFailed, match="outer; inner"):
        client.run("SELECT 1")


def test_a_server_is_ready_when_it_has_started() -> None:
    with answering([{"starting": True}, {"starting": False}]) as (client, _):
        assert [client.is_ready(), client.is_ready()] == [False, True]
    assert not client.is_ready()
