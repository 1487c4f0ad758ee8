"""The HBase of one EMR cluster: a step asks its master, and Systems Manager restarts its RegionServers in place.

`CacheIndex` is the HFiles in the caches of core nodes: each node reads its own persisted index and writes the answer to
S3. A node may write below `emr/` in the log bucket, where the answers of steps are too. Systems Manager's own output to
S3 would need nothing else, but its agent chooses the key and uploads after the command has ended.
"""

from __future__ import annotations

import json
import shlex
import uuid
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any, Final, Literal

from msgspec import Struct

import warmbase.hfile.cache_index
from warmbase.configurations.bootstrap import start_seconds, stop_seconds
from warmbase.configurations.launch import Launch
from warmbase.configurations.node_files import INDEX_FILE
from warmbase.emr.cluster_spec import flattened
from warmbase.facts.releases import releases
from warmbase.ground.errors import OperationFailed
from warmbase.hfile.cache_index import CachedFile
from warmbase.operations.aws.clients import Aws
from warmbase.operations.aws.errors import AGAIN, translated
from warmbase.operations.aws.node_command import PrimaryShell, run_on_node, run_on_nodes
from warmbase.operations.aws.progress import Say
from warmbase.operations.cluster.caches import reads_since
from warmbase.operations.cluster.hbase_control import (
    CacheContents,
    CacheReads,
    Families,
    HBaseState,
    LiveTables,
    Region,
    RegionMove,
    StoredRegion,
)
from warmbase.operations.cluster.stack import core_nodes

ON_NODE: Final = Path(__file__).parents[1] / "on_node"
READER: Final = Path(warmbase.hfile.cache_index.__file__)
# judgement: a million entries a second; the largest index has 14 million, and the volume is busy with reads.
SECONDS: Final = 600.0
REGION_SERVER_PORT: Final = 16020  # HBase's default, which warmbase does not change
STEP: Final = "control-regions"
COMPACTION_STEP: Final = "compact-regions"
TABLE_STEP: Final = "change-tables"
# judgement: a look at files and one system call each, and the index is read once without its blocks.
READINESS_SECONDS: Final = 120.0
RESTART: Final = "systemctl restart hbase-regionserver.service\n"
# judgement: Systems Manager delivers a command and its outcome within a minute.
DELIVERY_SECONDS: Final = 60
PERSIST_INTERVAL: Final = "hbase.bucketcache.persist.intervalinmillis"
# judgement: an index is written at most an interval after a change, and the writing takes less than another one.
STALE_INTERVALS: Final = 2


class CacheIndex(Struct, frozen=True, kw_only=True):
    """The persisted index of each server's cache: its path and format, and how long it may be behind the cache."""

    file: str
    format: str
    longest_seconds: int

    @classmethod
    def of(cls, launch: Launch) -> CacheIndex:
        """Return the index as the nodes of this launch write it."""
        values = {key: value for _, key, value in flattened(launch.settings.effective("core"))}
        interval_ms = int(values.get(PERSIST_INTERVAL, launch.plan.persistence.interval_ms))
        streamed = releases()[launch.plan.release].index_restored_in_background
        return cls(
            file=INDEX_FILE,
            format="streamed" if streamed else "chunked",
            longest_seconds=STALE_INTERVALS * interval_ms // 1000,
        )

    def check(self) -> str:
        """Return the shell text that checks it on a node."""
        return self._text("cache-readiness.sh", LONGEST_SECONDS=str(self.longest_seconds))

    def reading(self, answer: str) -> str:
        """Return the shell text that reads the cached files on a node and writes them to this URL."""
        return self._text("cached-files.sh", READER=READER.read_text(encoding="utf-8"), ANSWER=answer)

    def _text(self, program: str, **variables: str) -> str:
        values = {"INDEX": self.file, "FORMAT": self.format, **variables}
        assignments = " ".join(f"{name}={shlex.quote(value)}" for name, value in values.items())
        return f"{assignments}\n{(ON_NODE / program).read_text(encoding='utf-8')}"

    def read_contents(self, primary: PrimaryShell, instances: Mapping[str, str]) -> dict[str, CacheContents]:
        """Return the contents of each server's cache; `instances` has the node of each server.

        Raises OperationFailed where a node does not answer.
        """
        aws, bucket, caches = primary.aws, primary.log_bucket, {}
        directory = f"emr/{primary.cluster_id}/warmbase"
        keys = {server: f"{directory}/files-of-cache-{uuid.uuid4().hex}.json" for server in instances}
        texts = {instances[server]: self.reading(f"s3://{bucket}/{key}") for server, key in keys.items()}
        run_on_nodes(aws, texts, SECONDS)
        for server, key in keys.items():
            with translated(f"could not read s3://{bucket}/{key}", AGAIN):
                document = json.loads(aws.s3.get_object(Bucket=bucket, Key=key)["Body"].read())
            caches[server] = contents(document, self.longest_seconds)
        return caches


def contents(document: Mapping[str, Any], longest_seconds: float) -> CacheContents:
    """Return the contents that a node's answer describes.

    A cache that has not changed since its index was written is as the index says, however old that is. The publisher
    notices a change each minute; what happened after its last run is not known.
    """
    publisher = document["publisher"]
    since = publisher.get("changed_at") or max(publisher.get("at") or 0.0, document["written_at"])
    return CacheContents(
        age_seconds=document["now"] - document["written_at"],
        behind_seconds=max(0.0, document["now"] - since),
        longest_seconds=longest_seconds,
        files={name: CachedFile(*counts) for name, counts in document["files"].items()},
    )


def emr_hbase(aws: Aws, launch: Launch, cluster_id: str) -> EmrHBase:
    """Return the HBase of a running cluster of this environment."""
    bucket = launch.environment.in_account(launch.environment.log_bucket, aws.account)
    return EmrHBase(
        aws=aws,
        primary=PrimaryShell(aws=aws, cluster_id=cluster_id, log_bucket=bucket),
        index=CacheIndex.of(launch),
        restart_seconds=start_seconds(launch.plan) + stop_seconds(launch.plan) + DELIVERY_SECONDS,
    )


class EmrHBase(Struct, frozen=True, kw_only=True, dict=True):
    """Reads and changes the HBase of a cluster. `restart_seconds`: the most that systemd takes to stop and start."""

    aws: Aws
    primary: PrimaryShell
    index: CacheIndex
    restart_seconds: float

    def state(self, say: Say) -> HBaseState:
        """Return what the master knows now."""
        answer = self.primary.run(STEP, say, "state")
        return HBaseState(
            servers=answer["servers"],
            regions={name: Region(**region) for name, region in answer["regions"].items()},
            in_transition=answer["in_transition"],
            balancer_is_on=answer["balancer_is_on"],
        )

    def switch_balancer(self, say: Say, *, on: bool) -> None:
        """Switch the balancer, and wait for the moves that it has begun."""
        self.primary.run(STEP, say, "balancer", "on" if on else "off")

    def reopen(self, tables: Sequence[str], say: Say) -> None:
        """Close and open every region of these tables on the server that has it."""
        self.primary.run(STEP, say, "reopen", *tables)

    def region_files(self, say: Say) -> Mapping[str, Sequence[str]]:
        """Return the names of the store files of every open region of a user table."""
        answer: Mapping[str, Sequence[str]] = self.primary.run(STEP, say, "files")
        return answer

    def cache_contents(self, servers: Sequence[str], say: Say) -> Mapping[str, CacheContents]:
        """Return the contents of these servers' caches, by the index that each node reads of its own."""
        say(f"reading the indexes of {len(servers)} caches through Systems Manager")
        instances = {server: self._instance(server) for server in servers}
        return self.index.read_contents(self.primary, instances)

    def move(self, moves: Sequence[RegionMove], pause_seconds: float, say: Say) -> None:
        """Move one region after another, with a pause after each; each is open at its target before the next one."""
        self.primary.run(STEP, say, "move", f"{pause_seconds:g}", *(f"{move.region}@{move.target}" for move in moves))

    def stored_regions(self, say: Say) -> Mapping[str, StoredRegion]:
        """Return every open region of a user table, by its encoded name."""
        return {
            name: StoredRegion(**region) for name, region in self.primary.run(COMPACTION_STEP, say, "stored").items()
        }

    def compact(self, regions: Sequence[str], say: Say) -> None:
        """Run a major compaction of each of these regions, and wait for the end."""
        self.primary.run(COMPACTION_STEP, say, "compact", *regions)

    def live_tables(self, say: Say) -> LiveTables:
        """Return the enabled user tables as they are now."""
        return LiveTables(**self.primary.run(TABLE_STEP, say, "families"))

    def change_table(self, table: str, families: Families, say: Say) -> None:
        """Change these attributes; each region keeps the old ones until it is opened again."""
        words = (
            f"{family}:{name}={value}" for family, attributes in families.items() for name, value in attributes.items()
        )
        self.primary.run(TABLE_STEP, say, "change", table, *words)

    def reopen_region(self, region: str, say: Say) -> None:
        """Close a region and open it on its server; return once it has answered a read."""
        self.primary.run(TABLE_STEP, say, "reopen-region", region)

    def unready(self, servers: Sequence[str], say: Say) -> Mapping[str, str]:
        """Return the servers that would lose their cache if they restarted now, each with the reason."""
        say(f"checking the indexes of {len(servers)} caches through Systems Manager")
        reasons = {}
        for server in servers:
            reason = run_on_node(self.aws, self._instance(server), self.index.check(), READINESS_SECONDS).strip()
            if reason:
                reasons[server] = reason
        return reasons

    def lost_servers(self, servers: Iterable[str]) -> frozenset[str]:
        """Return those of these servers whose host EMR has terminated, unless another node has its name.

        A host that EMR does not list at all may still run: an incomplete list must not end the wait for it.
        """
        hosts = {server: server.rpartition(":")[0] for server in servers}
        terminated = self._listed("TERMINATED").keys() - self._instances.keys() if hosts else frozenset()
        return frozenset(server for server, host in hosts.items() if host in terminated)

    def restart(self, server: str, say: Say) -> None:
        """Restart the unit of one RegionServer, whose drop-in leaves it the time to write its index."""
        instance = self._instance(server)
        say(f"restarting the RegionServer on {instance}")
        run_on_node(self.aws, instance, RESTART, self.restart_seconds)

    def now(self) -> float:
        """Return the time of AWS, whose clock decides which published minutes are after a moment."""
        return self.aws.now().timestamp()

    def cache_reads(self, since: float) -> Mapping[str, CacheReads]:
        """Return the reads of each server since that time, in whole minutes that are published."""
        hosts = {instance: host for host, instance in self._instances.items()}
        with translated("could not read the figures of the caches", AGAIN):
            reads = reads_since(self.aws, self.primary.cluster_id, hosts, datetime.fromtimestamp(since, UTC))
        return {f"{hosts[instance]}:{REGION_SERVER_PORT}": read for instance, read in reads.items()}

    def _instance(self, server: str) -> str:
        host = server.rpartition(":")[0]
        if host not in self._instances:
            raise OperationFailed.of(
                where=server,
                what="is on no running core node",
                why=f"EMR lists {', '.join(sorted(self._instances)) or 'no core node'}",
                fix="if EMR is replacing the node, wait until it has; then run the same command again",
            )
        return self._instances[host]

    @cached_property
    def _instances(self) -> Mapping[str, str]:
        """Return the instance of each host name; a RegionServer is known by its node's private DNS name."""
        return self._listed("RUNNING")

    def _listed(self, state: Literal["RUNNING", "TERMINATED"]) -> Mapping[str, str]:
        """Return the instance of each host name that EMR lists in that state."""
        with translated(f"could not list the nodes of {self.primary.cluster_id}", AGAIN):
            nodes = core_nodes(self.aws, self.primary.cluster_id, state)
            return {node["PrivateDnsName"]: node["Ec2InstanceId"] for node in nodes if "PrivateDnsName" in node}
