"""The journal of a cluster's rolling restart, in the log bucket."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet

from msgspec import Struct, to_builtins
from msgspec.structs import replace

from operations.aws import Aws
from operations.hbase_control import HBaseState
from operations.s3_journal import S3Journal
from sizing.problem import OperationFailed


class RestartJournal(Struct, frozen=True, kw_only=True):
    """The cluster before the restart: start time and hit ratio of each server, and the server of each region.

    A server whose node published no reads has no hit ratio. `available` is true if regions move away for the restart.
    """

    balancer_was_on: bool
    starts: Mapping[str, int]
    hit_ratios: Mapping[str, float]
    homes: Mapping[str, str]
    available: bool = False

    def restarted(self, server: str, state: HBaseState) -> bool:
        """Return whether that server is back from the restart."""
        return server in state.servers and state.servers[server] != self.starts.get(server)

    def without(self, servers: AbstractSet[str]) -> RestartJournal:
        """Return the journal without these servers and their regions."""
        return replace(
            self,
            starts={server: start for server, start in self.starts.items() if server not in servers},
            homes={name: home for name, home in self.homes.items() if home not in servers},
        )

    def finished(self, server: str, state: HBaseState) -> bool:
        """Return whether that server is back, with all its regions that exist."""
        regions = [name for name, home in self.homes.items() if home == server and name in state.regions]
        return self.restarted(server, state) and all(state.homes.get(name) == server for name in regions)


class S3RestartJournal(Struct, frozen=True, kw_only=True):
    """The place of one cluster's journal."""

    aws: Aws
    bucket: str
    cluster_id: str

    @property
    def key(self) -> str:
        """Return the key of the object."""
        return f"restarts/{self.cluster_id}.json"

    def read(self) -> RestartJournal | None:
        """Return the journal of the restart that was interrupted; None where none was. Raises OperationFailed."""
        try:
            document = self._object.read()
            return None if document is None else RestartJournal(**document)
        except (ValueError, TypeError) as error:
            raise OperationFailed.of(
                where=self._object.url,
                what="is not the journal of a restart",
                why=str(error),
                fix="if no restart was interrupted, delete the object; then run the same command again",
            ) from None

    def write(self, journal: RestartJournal) -> None:
        """Replace any other journal with this one. Raises OperationFailed."""
        self._object.write(to_builtins(journal))

    def clear(self) -> None:
        """Delete the journal. Raises OperationFailed."""
        self._object.clear()

    @property
    def _object(self) -> S3Journal:
        return S3Journal(aws=self.aws, bucket=self.bucket, key=self.key)
