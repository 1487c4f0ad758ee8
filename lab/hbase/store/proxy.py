"""`python -m lab.hbase.store.proxy`: stands between HBase and its S3 server; counts, delays, paces and refuses.

One process, one thread, the standard library only: on a machine of two cores its CPU is HBase's. Bytes are passed on as
they came, so that what a client signed stays signed. Control, on a port of its own: GET /counters, GET
/table-gets, GET and POST /settings, POST /reset, all JSON.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import time
from asyncio import StreamReader, StreamWriter
from typing import Any, Final

from msgspec.structs import asdict

from lab.hbase.store import Conditions, Settings
from lab.hbase.store.connection import HEAD_BYTES, Proxied
from lab.machine.paths import HOST

WAITING_CONNECTIONS: Final = 512  # judgement: S3A opens up to `fs.s3a.connection.maximum` at once
CONTROL_SECONDS: Final = 10.0
CONTROL_BYTES: Final = 64 * 1024  # judgement: settings take a few hundred bytes


class Control:
    """The control port, which reports counters and takes settings."""

    def __init__(self, proxied: Proxied, seed: int) -> None:
        self._proxied = proxied
        self._seed = seed
        self._cpu_before = 0.0

    async def serve(self, reader: StreamReader, writer: StreamWriter) -> None:
        """Answer one request and close the connection."""
        try:
            async with asyncio.timeout(CONTROL_SECONDS):
                status, value = await self._answer(reader)
                text = json.dumps(value).encode()
                head = f"HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {len(text)}\r\n"
                writer.write(head.encode() + b"Connection: close\r\n\r\n" + text)
                await writer.drain()
        except (OSError, TimeoutError, EOFError, asyncio.LimitOverrunError):
            pass
        finally:
            writer.close()

    async def _answer(self, reader: StreamReader) -> tuple[str, dict[str, Any]]:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
        method, path, *_ = [*head.split(), "", ""]
        length = head.partition("content-length:")[2].partition("\r\n")[0].strip() or "0"
        if not length.isdigit() or int(length) > CONTROL_BYTES:
            return "400 Bad Request", {"error": "length of the body"}
        body = await reader.readexactly(int(length))
        try:
            return "200 OK", self._do(method, path, body)
        except KeyError:
            return "404 Not Found", {"error": f"{method} {path}"}
        except (ValueError, TypeError) as error:
            return "400 Bad Request", {"error": str(error)}

    def _do(self, method: str, path: str, body: bytes) -> dict[str, Any]:
        match method, path:
            case "get", "/counters":
                return self._proxied.tally.counts | {"cpu_seconds": time.process_time() - self._cpu_before}
            case "get", "/table-gets":
                return dict(self._proxied.tally.table_gets)
            case "get", "/settings":
                return asdict(self._proxied.conditions.settings)
            case "post", "/settings":
                self._proxied.conditions = Conditions(Settings.of(json.loads(body)), self._seed)
                return asdict(self._proxied.conditions.settings)
            case "post", "/reset":
                self._proxied.tally.reset()
                self._cpu_before = time.process_time()
                return {}
            case _:
                raise KeyError(path)


async def _serve(options: argparse.Namespace) -> None:
    proxied = Proxied(HOST, options.upstream_port, Conditions(Settings(), options.seed))
    control = Control(proxied, options.seed)
    await asyncio.start_server(proxied.serve, HOST, options.listen_port, limit=HEAD_BYTES, backlog=WAITING_CONNECTIONS)
    await asyncio.start_server(control.serve, HOST, options.control_port)
    await asyncio.Event().wait()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m lab.hbase.store.proxy", description=__doc__)
    parser.add_argument("--listen-port", type=int, required=True, help="where clients of S3 come")
    parser.add_argument("--upstream-port", type=int, required=True, help="where the S3 server listens")
    parser.add_argument("--control-port", type=int, required=True, help="where it is asked and set")
    parser.add_argument("--seed", type=int, default=0, help="of latencies and refusals")
    return parser


def main() -> None:
    """Serve until the process is ended."""
    asyncio.run(_serve(_parser().parse_args()))


if __name__ == "__main__":
    main()
