"""The store as the lab uses it: its endpoint, the counters of the proxy in front of it, and the proxy's settings."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException
from typing import Any, Final, Self

from msgspec import Struct
from msgspec.structs import asdict, fields

from lab.hbase.paths import HOST
from lab.hbase.store.settings import Settings
from sizing.problem import OperationFailed

STORE_FILES: Final = b"/data/"
"""The part of a path that every object of a table has below `hbase.rootdir`, in the archive too."""
SYSTEM_TABLES: Final = b"/data/hbase/"
"""The path of HBase's own tables, in which each starting client looks up every region."""
OF_BUCKET: Final = re.compile(rb"/[^/]*/?")
TABLE: Final = re.compile(rb"/data/default/([^/]+)/")
"""The path of a table's objects, which contains the name of the table."""
PARTS: Final = re.compile(rb"(^|&)uploadId=")


class StoreCounters(Struct, frozen=True, kw_only=True):
    """Requests by kind, bytes with their heads, and the proxy's own CPU time. The difference of two is a window."""

    gets: int = 0
    """GETs of objects, including those of store files."""
    store_file_gets: int = 0
    """GETs of store files of tables, without HBase's own tables."""
    heads: int = 0
    lists: int = 0
    """Listings: GETs of a bucket, or of the parts of an upload."""
    puts: int = 0
    posts: int = 0
    deletes: int = 0
    others: int = 0
    bytes_up: int = 0
    bytes_down: int = 0
    slowed: int = 0
    """Requests that the proxy answered 503 SlowDown; each is counted under its kind too."""
    open_connections: int = 0
    """Connections that are open now; a window keeps the current number."""
    cpu_seconds: float = 0.0

    @property
    def requests(self) -> int:
        """Return the number of requests of all kinds."""
        return self.gets + self.heads + self.lists + self.puts + self.posts + self.deletes + self.others

    def __sub__(self, earlier: Self) -> StoreCounters:
        """Return the counts between the two."""
        before = asdict(earlier) | {"open_connections": 0}
        return StoreCounters(**{name: value - before[name] for name, value in asdict(self).items()})

    @classmethod
    def of(cls, values: Mapping[str, float]) -> StoreCounters:
        """Return the counters that the proxy reports. Raises TypeError or KeyError for any other answer."""
        return cls(**{field.name: values[field.name] for field in fields(cls)})  # type: ignore[arg-type]


class Tally:
    """The proxy's running counters: `counts` has each field of StoreCounters, `table_gets` the GETs of each table."""

    __slots__ = ("counts", "table_gets")

    def __init__(self) -> None:
        self.counts = dict.fromkeys((field.name for field in fields(StoreCounters)), 0)
        self.table_gets: Counter[str] = Counter()

    def request(self, method: bytes, target: bytes) -> None:
        """Count one request."""
        path, _, query = target.partition(b"?")
        kind = _kind(method, path, query)
        self.counts[kind] += 1
        if kind == "gets":
            self.counts["store_file_gets"] += STORE_FILES in path and SYSTEM_TABLES not in path
            if table := TABLE.search(path):
                self.table_gets[table[1].decode()] += 1

    def add(self, name: str, count: int) -> None:
        """Add to one counter."""
        self.counts[name] += count

    def reset(self) -> None:
        """Start counting from zero again; open connections stay counted."""
        open_connections = self.counts["open_connections"]
        self.counts = dict.fromkeys(self.counts, 0) | {"open_connections": open_connections}
        self.table_gets.clear()


KINDS: Final = {b"HEAD": "heads", b"PUT": "puts", b"POST": "posts", b"DELETE": "deletes"}


def _kind(method: bytes, path: bytes, query: bytes) -> str:
    if method != b"GET":
        return KINDS.get(method, "others")
    return "lists" if OF_BUCKET.fullmatch(path) or PARTS.search(query) else "gets"


ANSWER_SECONDS: Final = 10.0


class StoreClient(Struct, frozen=True, kw_only=True):
    """A running store. Every method raises OperationFailed when its proxy does not answer."""

    port: int
    control_port: int

    @property
    def endpoint(self) -> str:
        """Return the address for `fs.s3a.endpoint`."""
        return f"http://{HOST}:{self.port}"

    @property
    def is_up(self) -> bool:
        """Return whether the proxy answers."""
        try:
            self.settings()
        except OperationFailed:
            return False
        return True

    def counters(self) -> StoreCounters:
        """Return the counts since the start or the last reset."""
        return StoreCounters.of(self._ask("GET", "/counters"))

    def table_gets(self) -> Counter[str]:
        """Return the GETs of the store files of each table since the start or the last reset."""
        return Counter(self._ask("GET", "/table-gets"))

    def settings(self) -> Settings:
        """Return the settings in force."""
        return Settings.of(self._ask("GET", "/settings"))

    def set(self, settings: Settings) -> None:
        """Apply the settings from the next request on; random draws restart from the seed."""
        self._ask("POST", "/settings", asdict(settings))

    def reset(self) -> None:
        """Reset every counter to zero."""
        self._ask("POST", "/reset")

    def _ask(self, method: str, path: str, value: object = None) -> dict[str, Any]:
        connection = HTTPConnection(HOST, self.control_port, timeout=ANSWER_SECONDS)
        try:
            connection.request(method, path, body=json.dumps(value).encode())
            answer = connection.getresponse()
            body = answer.read()
            if answer.status != HTTPStatus.OK:
                raise OperationFailed.of(
                    where="the store's proxy",
                    what=f"refused {method} {path}",
                    why=body.decode(errors="replace"),
                    fix="read the proxy's log",
                )
            return dict(json.loads(body))
        except (OSError, HTTPException, ValueError) as error:
            raise OperationFailed.of(
                where="the store's proxy",
                what=f"does not answer {method} {path}",
                why=str(error),
                fix="end the lab and start it again",
            ) from None
        finally:
            connection.close()
