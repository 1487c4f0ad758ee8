"""The server of the page: only this machine can reach it, and its address contains a token that nobody can guess.

It sends the files of the page, and answers requests for plans. A request cannot name any other file.
"""

from __future__ import annotations

import re
import secrets
import sys
from collections import OrderedDict
from collections.abc import Callable, Mapping
from functools import cached_property
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import PurePath
from socketserver import TCPServer
from typing import Any, Final

from msgspec import Struct
from msgspec.json import decode

from warmbase.reports.explorer.answer import ANSWERS
from warmbase.reports.explorer.page_file import HTML, TYPES, page_files, served_page
from warmbase.reports.explorer.planner import Planner, Question, Superseded
from warmbase.reports.explorer.subject import Subject, subject_document

HOST: Final = "127.0.0.1"
NAMES: Final = (HOST, "localhost")
"""The names that Host and Origin may have. A site whose name resolves to this address (DNS rebinding) has another."""
PORT_OF_HTTP: Final = 80
"""The port that a browser leaves out of Host and Origin."""
JSON: Final = "application/json"
MOST_BYTES: Final = 16_384
LENGTH: Final = re.compile(r"[0-9]{1,9}")
MOST_ANSWERS: Final = 512
"""The number of answers that the server remembers, for states that the user returns to. An answer has about 20 kB."""
TOKEN_BYTES: Final = 18
HEADLINES: Final = frozenset({"quick", "plan"})
"""The answers that the headline waits for."""
NICENESS: Final = 10
"""Plots and advice give way to other processes, and to the headline where there is one processor."""
POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'"
)
HEADERS: Final[Mapping[str, str]] = {
    "Content-Security-Policy": POLICY,
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


class Refusal(Exception):
    """A request that the server refuses, with the status of the response, and the reason if that says too little."""

    def __init__(self, status: HTTPStatus, reason: str = "") -> None:
        self.status = status
        super().__init__(reason or status.phrase)


class PageRequest(Struct, frozen=True, kw_only=True):
    """The body of a request: `number` rises with every change of the page; values are those that differ from the file.

    `column` is a column of `warmbase compare`.
    """

    page: str
    number: int
    values: Mapping[str, str]
    column: str = ""


class ExplorerServer(ThreadingHTTPServer):
    """The server for one environment. Port 0 means any free port. Raises OSError if it cannot listen on the port."""

    daemon_threads = True

    def __init__(self, subject: Subject, port: int) -> None:
        self.subject = subject
        self.token = secrets.token_urlsafe(TOKEN_BYTES)
        self.answers: OrderedDict[tuple[object, ...], bytes] = OrderedDict()
        self.headline, self.background = Planner(subject), Planner(subject, NICENESS)
        # If the port is taken, this calls server_close, which ends the planners.
        super().__init__((HOST, port), Handler)

    def server_bind(self) -> None:
        """Take the port. The library would also ask the name service for the name of this machine."""
        TCPServer.server_bind(self)
        self.server_port = self.server_address[1]

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names of this server, with its port, as a browser sends them."""
        with_port = tuple(f"{name}:{self.server_port}" for name in NAMES)
        return (*with_port, *NAMES) if self.server_port == PORT_OF_HTTP else with_port

    @property
    def url(self) -> str:
        """Return the address of the page."""
        return f"http://{HOST}:{self.server_port}/{self.token}/"

    @cached_property
    def files(self) -> Mapping[str, bytes]:
        """Return the files of the page by name; index.html contains the inputs of the environment."""
        page = served_page({"subject": subject_document(self.subject)})
        return {**page_files(), HTML: page.encode()}

    def server_close(self) -> None:
        """Stop listening, and end the planners."""
        super().server_close()
        for planner in (self.headline, self.background):
            planner.end()

    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ANN401 - the library's signature
        """Print nothing if the browser has closed the connection; any other error is a bug in the server."""
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)

    def answer(self, kind: str, request: PageRequest) -> bytes:
        """Return an answer of this kind as JSON. Raises Superseded if the page has sent a newer request."""
        question = Question(kind=kind, values=request.values, column=request.column)
        for planner in (self.headline, self.background):
            planner.register(request.page, request.number)
        planner = self.headline if question.kind in HEADLINES else self.background
        key = (question.kind, question.column, *sorted(question.values.items()))
        with planner.turn(request.page, request.number):
            content = self.answers.get(key)
            if content is None:
                content = self.answers[key] = planner.answer(question)
                if len(self.answers) > MOST_ANSWERS:
                    self.answers.popitem(last=False)
            return content


class Handler(BaseHTTPRequestHandler):
    """The handler of the requests of one connection."""

    server: ExplorerServer
    protocol_version = "HTTP/1.1"
    server_version = "warmbase"
    sys_version = ""
    timeout = 60
    # The headers and the content are separate writes; Nagle's algorithm would delay the content by 40 ms.
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        """Send a file of the page."""
        self._answer(self._file)

    def do_POST(self) -> None:
        """Send the answer to a request for a plan, a price, the cluster for ranges, or advice."""
        self._answer(self._plan)

    def _answer(self, content: Callable[[], tuple[str, bytes]]) -> None:
        try:
            self._send(HTTPStatus.OK, *content())
        except Superseded:
            self._refuse(Refusal(HTTPStatus.CONFLICT))
        except Refusal as refusal:
            self._refuse(refusal)

    def _file(self) -> tuple[str, bytes]:
        name = self._name() or HTML
        if self.headers.get("Content-Length", "0") != "0":
            raise Refusal(HTTPStatus.BAD_REQUEST, "a request for a file has no content")
        if name not in self.server.files:
            raise Refusal(HTTPStatus.NOT_FOUND)
        return TYPES[PurePath(name).suffix], self.server.files[name]

    def _plan(self) -> tuple[str, bytes]:
        kind = self._name()
        if kind not in ANSWERS:
            raise Refusal(HTTPStatus.NOT_FOUND)
        length = self.headers.get("Content-Length", "")
        if self.headers.get_content_type() != JSON:
            raise Refusal(HTTPStatus.UNSUPPORTED_MEDIA_TYPE)
        if not LENGTH.fullmatch(length) or int(length) > MOST_BYTES:
            raise Refusal(HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
        try:
            request = decode(self.rfile.read(int(length)), type=PageRequest)
        except (ValueError, RecursionError) as error:
            raise Refusal(HTTPStatus.BAD_REQUEST, str(error)) from None
        if request.column not in {"", *self.server.subject.engine.columns}:
            raise Refusal(HTTPStatus.BAD_REQUEST, "there is no such column")
        return JSON, self.server.answer(kind, request)

    def _name(self) -> str:
        """Return the last part of the path. Raises Refusal for another host, another origin, or a wrong token."""
        if "Transfer-Encoding" in self.headers:
            raise Refusal(HTTPStatus.LENGTH_REQUIRED)
        names = self.server.names
        origin = self.headers.get("Origin")
        if self.headers.get("Host") not in names or (origin and origin.removeprefix("http://") not in names):
            raise Refusal(HTTPStatus.FORBIDDEN)
        _, token, *rest = [*self.path.split("/"), ""]
        if not secrets.compare_digest(token.encode(), self.server.token.encode()) or len(rest) != len(["name", ""]):
            raise Refusal(HTTPStatus.NOT_FOUND)
        return rest[0]

    def _refuse(self, refusal: Refusal) -> None:
        # The connection would parse a body that was not read as the next request.
        self.close_connection = True
        self._send(refusal.status, "text/plain; charset=utf-8", f"{refusal}\n".encode())

    def _send(self, status: HTTPStatus, content_type: str, content: bytes) -> None:
        headers = {"Content-Type": content_type, "Content-Length": str(len(content)), **HEADERS}
        try:
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(content)
        except OSError:
            # The page has cancelled this request, because it has sent a newer one.
            self.close_connection = True

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the library's signature
        """Print nothing: every move of a slider is a request."""
