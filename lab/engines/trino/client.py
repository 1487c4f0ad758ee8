"""Statements to Trino over its HTTP protocol: send one, follow the answer to its last page, return the rows.

Source: "Trino client REST API" in Trino's documentation.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from http.client import HTTPConnection, HTTPException
from typing import Any, Final
from urllib.parse import urlsplit

from msgspec import Struct, field

from lab.hbase.paths import HOST
from sizing.problem import OperationFailed

USER: Final = "lab"
ANSWER_SECONDS: Final = 30.0
STATEMENT_SECONDS: Final = 180.0  # judgement: the longest statement, which writes a table, takes about 20 s


class Answer(Struct, frozen=True):
    """The rows of a statement, and how long the client waited for them."""

    rows: tuple[tuple[Any, ...], ...]
    seconds: float


class TrinoClient(Struct, frozen=True, kw_only=True):
    """Sends statements to the coordinator on a port of this machine."""

    port: int
    session: Mapping[str, str] = field(default_factory=dict)
    """Session properties of every statement."""

    def run(self, statement: str) -> Answer:
        """Run a statement to its end. Raises OperationFailed where it fails, or where there is no answer in time."""
        began, rows = time.monotonic(), list[tuple[Any, ...]]()
        page = self._ask("POST", "/v1/statement", statement)
        while True:
            rows += map(tuple, page.get("data", ()))
            if "error" in page:
                raise self._failed(statement, "; ".join(_messages(page["error"])))
            if "nextUri" not in page:
                return Answer(tuple(rows), time.monotonic() - began)
            if time.monotonic() - began > STATEMENT_SECONDS:
                raise self._failed(statement, f"it did not end within {STATEMENT_SECONDS:.0f} s")
            page = self._ask("GET", urlsplit(page["nextUri"]).path)

    def is_ready(self) -> bool:
        """Return whether the server answers and has finished starting."""
        try:
            return self._ask("GET", "/v1/info").get("starting") is False
        except OperationFailed:
            return False

    def _ask(self, method: str, path: str, body: str | None = None) -> dict[str, Any]:
        headers = {"X-Trino-User": USER, "Content-Type": "text/plain; charset=utf-8"}
        if self.session:
            headers["X-Trino-Session"] = ",".join(f"{name}={value}" for name, value in self.session.items())
        connection = HTTPConnection(HOST, self.port, timeout=ANSWER_SECONDS)
        try:
            connection.request(method, path, body=body and body.encode(), headers=headers)
            return dict(json.loads(connection.getresponse().read()))
        except (OSError, HTTPException, ValueError) as error:
            raise self._failed(f"{method} {path}", str(error)) from None
        finally:
            connection.close()

    def _failed(self, what: str, why: str) -> OperationFailed:
        return OperationFailed.of(where=f"Trino on port {self.port}", what=what, why=why, fix="read the server's log")


def _messages(error: Mapping[str, Any]) -> list[str]:
    """Return the message of an error and those of its causes."""
    messages, cause = [str(error.get("message"))], error.get("failureInfo", {}).get("cause")
    while cause:
        messages.append(str(cause.get("message")))
        cause = cause.get("cause")
    return messages
