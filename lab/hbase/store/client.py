"""The store as the lab sees it: an endpoint, and what the proxy before it counts and does."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException
from typing import Any, Final

from lab.hbase.paths import HOST
from lab.hbase.store.counters import StoreCounters
from lab.hbase.store.settings import Settings
from sizing.problem import OperationFailed

__all__ = ["StoreClient"]

ANSWER_SECONDS: Final = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreClient:
    """A store that runs. Every method raises OperationFailed when its proxy does not answer."""

    port: int
    control_port: int

    @property
    def endpoint(self) -> str:
        """For `fs.s3a.endpoint`."""
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
        """Return what was counted since the start or the last reset."""
        return StoreCounters.of(self._ask("GET", "/counters"))

    def settings(self) -> Settings:
        """Return what holds now."""
        return Settings.of(self._ask("GET", "/settings"))

    def set(self, settings: Settings) -> None:
        """Lets these hold from the next request on; draws begin anew from the seed."""
        self._ask("POST", "/settings", asdict(settings))

    def reset(self) -> None:
        """Counts from nothing."""
        self._ask("POST", "/reset")

    def _ask(self, method: str, path: str, value: object = None) -> dict[str, Any]:
        connection = HTTPConnection(HOST, self.control_port, timeout=ANSWER_SECONDS)
        try:
            connection.request(method, path, body=json.dumps(value).encode())
            answer = connection.getresponse()
            said = answer.read()
            if answer.status != HTTPStatus.OK:
                raise OperationFailed(f"the store's proxy refused {method} {path}: {said.decode(errors='replace')}")
            return dict(json.loads(said))
        except (OSError, HTTPException, ValueError) as error:
            raise OperationFailed(f"the store's proxy does not answer {method} {path}: {error}") from None
        finally:
            connection.close()
