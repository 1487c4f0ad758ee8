"""A Pricing API on this machine: GetProducts over HTTP as boto3 calls it, page by page, filtered as AWS filters.

The products beside this file, one file for each service, were written by hand in the documented shape. Among them
are others that a search must not take for ours: reserved capacity, other software, another region, S3 Tables.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Self

HOME = Path(__file__).parent
PAGE = 2

Product = dict[str, Any]


def recorded() -> dict[str, list[Product]]:
    """The products of each service, to change at will."""
    return {file.stem: json.loads(file.read_text()) for file in HOME.glob("*.json")}


class PricingApi:
    """Up while in its `with` block; `products` and `refusal` may be changed meanwhile."""

    def __init__(self) -> None:
        self.products = recorded()
        self.refusal: str | None = None
        api = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                status, answer = api.answer(body)
                text = json.dumps(answer).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/x-amz-json-1.1")
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            def log_message(self, *_: object) -> None:
                """Says nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)

    @property
    def variables(self) -> dict[str, str]:
        """Return what a client needs to ask here, and nothing of this process's own."""
        return {
            "AWS_ENDPOINT_URL": f"http://127.0.0.1:{self._server.server_port}",
            "AWS_ACCESS_KEY_ID": "local",
            "AWS_SECRET_ACCESS_KEY": "local",
        }

    def answer(self, body: Mapping[str, Any]) -> tuple[int, Mapping[str, Any]]:
        """Return the status and the body of the answer."""
        if self.refusal:
            return 400, {"__type": self.refusal, "message": "User: local is not authorized"}
        found = [product for product in self.products[body["ServiceCode"]] if matches(product, body["Filters"])]
        begin = int(body.get("NextToken", 0))
        rest = {"NextToken": str(begin + PAGE)} if begin + PAGE < len(found) else {}
        page = [json.dumps(each) for each in found[begin : begin + PAGE]]
        return 200, {"FormatVersion": "aws_v1", "PriceList": page, **rest}

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()


def matches(product: Product, filters: list[dict[str, str]]) -> bool:
    described = {"productFamily": product["product"]["productFamily"], **product["product"]["attributes"]}
    assert all(each["Type"] == "TERM_MATCH" for each in filters)
    return all(described.get(each["Field"]) == each["Value"] for each in filters)
