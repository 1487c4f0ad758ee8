"""The teardown of one cluster, in an order that loses no data, and the removal of the stacks that hold none.

Each step is verified before the next begins. Nothing here deletes data, keys or logs.

The data in a writer's memory and write-ahead log exists nowhere else. So steps on the primary disable the tables, flush
hbase:meta and stop HBase, and the log must be empty, in the order that the storage mode states.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, Final, Literal

from msgspec import Struct
from msgspec.structs import replace

from warmbase.environments.environment import Environment, Wal
from warmbase.environments.launch_record import check_record, launch_records, record_directory
from warmbase.environments.names import cluster_stack, monitoring_stack, network_stack
from warmbase.ground.errors import Refused
from warmbase.operations.aws.clients import Aws
from warmbase.operations.aws.errors import translated
from warmbase.operations.aws.node_command import PrimaryShell, outcome, send
from warmbase.operations.aws.progress import Say, Stage
from warmbase.operations.cluster.alarms import delete_rule, mute
from warmbase.operations.cluster.claims import NOBODY, claim_of, release
from warmbase.operations.cluster.failed_launch import find_failed_launches
from warmbase.operations.cluster.protection import mark_complete, refuse_loss
from warmbase.operations.cluster.stack import (
    EnvironmentCluster,
    delete_stack,
    environment_cluster,
    running_nodes,
    state_of,
    wait_for_end,
)
from warmbase.sizing.modes import TeardownStep

STOP_SECONDS: Final = 3600  # judgement: the index of the largest cache is written in a tenth of that
LEAVING_SECONDS: Final = 120  # judgement: three times the 40 s after which ZooKeeper forgets a server that was killed
STOP_UNITS: Final = Path(__file__).parents[1] / "on_node" / "stop-units.sh"
SILENT: Final = "its alarms notify nobody for now; to turn them on again: warmbase deploy ENV"
MOST_NAMES: Final = 3
DOWN: Final = "HBase is stopped already"


def primary_actions(exported: str) -> Mapping[TeardownStep, tuple[str, Callable[[PrimaryShell, Say], str]]]:
    """Return the title and the function of each step that a storage mode can name."""
    return {
        "find-exports": (
            f"find an export of every table below {exported}",
            partial(_check_exports, exported, current=False),
        ),
        "disable-tables": ("disable every table", _disable_tables),
        "verify-exports": (f"check that every table is exported to {exported}", partial(_check_exports, exported)),
        "flush-meta": ("flush hbase:meta and hbase:namespace", _flush_meta),
        "stop-hbase": ("stop HBase", _stop_hbase),
        "check-log": ("check that the write-ahead log is empty", check_log),
    }


def check_log(primary: PrimaryShell, say: Say) -> str:
    """Return a line that says that the write-ahead log is empty. Raises Refused where it is not, or HBase runs."""
    log = primary.run("inspect-wals", say)
    if not log["down"]:
        raise Refused.of(
            where="HBase",
            what="is running again after it was stopped",
            why="something has started it",
            fix="find in the journal of the primary nodes what started it, and stop that; run the same command"
            f" again, which stops HBase; {SILENT}",
        )
    if log["files"]:
        some = ", ".join(log["files"][:MOST_NAMES])
        raise Refused.of(
            where=str(log["directory"]),
            what=f"is not empty: it holds {some}",
            why="these write-ahead logs hold edits that exist nowhere else",
            fix="start HBase again (systemctl start hbase-master, and hbase-regionserver on core nodes), wait until"
            f" it has replayed the log, and run the same command again; {SILENT}",
        )
    return f"{log['directory']} is empty"


def _disable_tables(primary: PrimaryShell, say: Say) -> str:
    answer = primary.run("disable-tables", say)
    if answer.get("down"):
        return DOWN
    if answer["enabled"]:
        raise Refused.of(
            where="HBase",
            what=f"tables are still enabled: {', '.join(answer['enabled'])}",
            why="the data in their memory would be lost",
            fix="find the reason in the master's log, disable the tables in the HBase shell, and run the same"
            " command again",
        )
    tables = answer["tables"]
    names = ", ".join(tables[:MOST_NAMES]) + (", …" if len(tables) > MOST_NAMES else "")
    return f"{len(tables)} tables are disabled: {names}" if tables else "HBase has no table"


def _flush_meta(primary: PrimaryShell, say: Say) -> str:
    answer = primary.run("flush-meta", say)
    return DOWN if answer.get("down") else f"flushed {' and '.join(answer['flushed'])}"


def _stop_hbase(primary: PrimaryShell, say: Say) -> str:
    """Stop HBase in order, and then its units by request: systemd may have started again what the order stopped."""
    answer = primary.run("stop-hbase", say, str(STOP_SECONDS))
    if answer["returned"]:
        say("HBase runs again: systemd has started it")
    else:
        _refuse_servers(answer["servers"])
    unreachable = [*_stop_units(primary, "CORE"), *_stop_units(primary, "MASTER")]
    _refuse_servers(primary.run("stop-hbase", say, str(LEAVING_SECONDS), "only-wait")["servers"])
    if unreachable:
        some = ", ".join(unreachable[:MOST_NAMES])
        return f"no RegionServer is running; Systems Manager did not stop the units of {some}, which may start again"
    return "no RegionServer is running, and no unit of HBase"


def _stop_units(primary: PrimaryShell, role: Literal["CORE", "MASTER"]) -> list[str]:
    """Stop the units of HBase on all nodes of a group at once, and return the nodes that do not answer.

    Raises Refused where a unit still runs.
    """
    text, aws = STOP_UNITS.read_text(encoding="utf-8"), primary.aws
    nodes = running_nodes(aws, primary.cluster_id, role)
    commands = {node: send(aws, node, text, STOP_SECONDS) for node in nodes}
    outcomes = {
        node: None if command is None else outcome(aws, command, node, STOP_SECONDS)
        for node, command in commands.items()
    }
    running = [
        f"{unit} on {node}" for node, ended in outcomes.items() if ended is not None for unit in ended.output.split()
    ]
    if running:
        raise Refused.of(
            where="HBase",
            what=f"units are still running: {', '.join(running[:MOST_NAMES])}",
            why="they may write to the log, and the data in their memory would be lost",
            fix=f"read why in their journal (journalctl --unit UNIT), and run the same command again; {SILENT}",
        )
    return [node for node, ended in outcomes.items() if ended is None or not ended.has_succeeded]


def _refuse_servers(servers: Sequence[str]) -> None:
    if servers:
        raise Refused.of(
            where="HBase",
            what=f"RegionServers are still running: {', '.join(servers)}",
            why="the data in their memory would be lost",
            fix="find the reason in their logs, and run the same command again",
        )


def _check_exports(url: str, primary: PrimaryShell, say: Say, *, current: bool = True) -> str:
    answer = primary.run("verify-export", say, url)
    if answer["missing"]:
        raise Refused.of(
            where=url,
            what=f"has no complete snapshot of {', '.join(answer['missing'])}",
            why="the data exists nowhere else",
            fix="export a snapshot of each (ExportSnapshot -snapshot NAME -copy-to URL), and run the same"
            " command again",
        )
    if not current:
        return f"each table has a complete snapshot below {url}"
    if answer["stale"]:
        raise Refused.of(
            where=url,
            what=f"the snapshots of {', '.join(answer['stale'])} lack store files that the tables now have",
            why="anything written or compacted since the snapshot exists nowhere else",
            fix="take another snapshot of each, which a disabled table allows, export it, and run the same"
            " command again",
        )
    return f"each table has a complete snapshot below {url}, with all its store files"


class Consent(Struct, frozen=True, kw_only=True):
    """The facts that you state for a teardown that would otherwise be refused.

    `exported` is the place to which the snapshots of all tables were exported, in mode hdfs. `lost_cluster` is the id
    of a cluster that ended by itself, with data that nobody can bring back.
    """

    exported: str | None = None
    lost_cluster: str | None = None


NO_CONSENT: Final = Consent()


def teardown(aws: Aws, environment: Environment, cluster_name: str, consent: Consent = NO_CONSENT) -> Iterator[Stage]:
    """Yield every step.

    Raises Refused for a cluster in mode hdfs without an export, because its data would end with it; for a cluster that
    ended by itself with data, until you name it; for what remains of a failed launch, because nothing ever ran
    on it; and for a running cluster without a launch record, because the file alone does not prove what it is. Raises
    InvalidInput where the record contradicts the file.
    """
    cluster = environment_cluster(aws, environment, cluster_name)
    if cluster is not None and not cluster.has_ended:
        for failed in find_failed_launches(aws, environment):
            if failed.cluster == cluster.id:
                raise Refused.of(
                    where=f"cluster {cluster.id}",
                    what="never started, so there is nothing to shut down",
                    why=failed.text,
                    fix=f"warmbase deploy {environment.argument} ends it and launches another one;"
                    f" warmbase destroy {environment.argument} only ends it",
                )
    if cluster is not None and cluster.is_running:
        check_record(environment, cluster_name, launch_records(environment).get(cluster_name), cluster.id)
    holds_data = environment.mode.needs_export and cluster_name in environment.clusters
    if holds_data and consent.exported is None and cluster is not None and cluster.is_running:
        raise Refused.of(
            where=f"cluster {cluster.id}",
            what="has the only copy of the data, on its nodes",
            why="in HDFS mode, terminating the nodes deletes the data",
            fix="export a snapshot of each table to S3 (hbase org.apache.hadoop.hbase.snapshot.ExportSnapshot), and"
            " name the place: --exported s3://BUCKET/PREFIX/",
        )
    if cluster is not None:
        yield from _cluster_stages(aws, environment, cluster_name, cluster, consent)
    yield from _stack_stages(aws, environment, cluster_name)

    def release_claim(_: Say) -> str:
        """Release the claim of this cluster or of one that has ended; the claim of another running cluster stays."""
        claim = claim_of(aws, environment.root)
        if claim is None or claim.cluster == NOBODY:
            return "no cluster holds it"
        if claim.cluster != (cluster.id if cluster else None) and claim.holds:
            return f"{claim.cluster} holds the claim, so it stays"
        release(aws, environment, claim)
        return "the next active cluster can claim it"

    def remove_record(_: Say) -> str:
        directory = record_directory(environment, cluster_name)
        if not directory.exists():
            return "there is none"
        aws.check("remove the launch record")
        shutil.rmtree(directory)
        with suppress(OSError):
            directory.parent.rmdir()
        return f"{directory} was removed; commit this change"

    if environment.role(cluster_name) == "active" and environment.mode.keeps_data_in_s3:
        yield _step("release the claim of the root", release_claim)
    yield _step("remove the launch record", remove_record)


def destruction(aws: Aws, environment: Environment) -> Iterator[Stage]:
    """Yield the steps that delete the stacks without data.

    Raises Refused where clusters are deployed that the file no longer lists, and while a cluster runs, or may run.
    """
    listed = {cluster_stack(environment.name, cluster_name) for cluster_name in environment.cluster_names}
    with translated(f"could not list the stacks of {environment.name}", "run the same command again"):
        pages: Any = aws.cloudformation.get_paginator("describe_stacks").paginate()
        names = [stack["StackName"] for page in pages for stack in page["Stacks"]]
    # A cluster's name has no hyphen: warmbase-prod-eu-blue-cluster belongs to prod-eu, not to prod.
    ours = re.compile(cluster_stack(re.escape(environment.name), "[^-]+"))
    others = [name for name in names if ours.fullmatch(name) and name not in listed]
    if others:
        raise Refused.of(
            where=environment.source,
            what=f"does not list clusters that are deployed: {', '.join(others)}",
            why="their stacks use the network that the command would remove",
            fix="add their names to the file again, and shut them down: warmbase teardown",
        )
    for cluster_name in environment.cluster_names:
        cluster = environment_cluster(aws, environment, cluster_name)
        if cluster is not None and not cluster.has_ended:
            raise Refused.of(
                where=f"cluster {cluster_name}",
                what=f"is running: {cluster.id} is {cluster.state_text}",
                why="the command would remove its network",
                fix=f"terminate it first: warmbase teardown {environment.argument} {cluster_name}",
            )
    for cluster_name in environment.cluster_names:
        yield from _stack_stages(aws, environment, cluster_name)
    network = network_stack(environment.name)
    yield _step(f"delete stack {network}", partial(delete_stack, aws, network))


def _stack_stages(aws: Aws, environment: Environment, cluster_name: str) -> Iterator[Stage]:
    """Yield the steps that delete the alarms of a cluster, the rule that muted them, and its stack."""
    monitoring, stack = monitoring_stack(environment.name, cluster_name), cluster_stack(environment.name, cluster_name)

    def delete_monitoring(say: Say) -> str:
        outcome = delete_stack(aws, monitoring, say)
        return outcome + delete_rule(aws, environment.name, cluster_name)

    yield _step(f"delete stack {monitoring}", delete_monitoring)
    yield _step(f"delete stack {stack}", partial(delete_stack, aws, stack))


def _cluster_stages(
    aws: Aws, environment: Environment, cluster_name: str, cluster: EnvironmentCluster, consent: Consent
) -> Iterator[Stage]:
    """Yield the steps that shut the cluster down. Raises Refused if it has ended and its data is lost."""
    logs = environment.in_account(environment.log_bucket, aws.account)
    primary = PrimaryShell(aws=aws, cluster_id=cluster.id, log_bucket=logs)

    def current() -> EnvironmentCluster:
        return replace(cluster, state=state_of(aws, cluster.id))

    def refuse(now: EnvironmentCluster) -> None:
        if consent.lost_cluster != now.id:
            refuse_loss(aws, environment, cluster_name, now)

    def run_on_primary(act: Callable[[PrimaryShell, Say], str], say: Say) -> str:
        now = current()
        if now.is_running:
            return act(primary, say)
        refuse(now)
        return f"{now.id} is {now.state_text}: nothing left to do on it"

    def unprotect(_: Say) -> str:
        now = current()
        if not now.is_running:
            return f"{cluster.id} is {now.state_text}"
        aws.emr.set_termination_protection(JobFlowIds=[cluster.id], TerminationProtected=False)
        return f"termination protection of {cluster.id} is off"

    def terminate(say: Say) -> str:
        is_ours = current().is_running
        if is_ours:
            mark_complete(aws, cluster.id)
            aws.emr.terminate_job_flows(JobFlowIds=[cluster.id])

        def read() -> tuple[str, bool]:
            now = current()
            # If somebody else has terminated the cluster, its data may be lost.
            if now.has_ended and not is_ours:
                refuse(now)
            return now.state_text, now.has_ended

        return wait_for_end(cluster.id, read, say)

    refuse(cluster)
    acts = primary_actions(str(consent.exported))
    # A planned shutdown should page nobody.
    silence = _step("mute the notifications of its alarms", lambda _: mute(aws, environment.name, cluster_name))
    steps: tuple[TeardownStep, ...] = ()
    if environment.role(cluster_name) == "active":
        # The log is checked only where it is on the cluster's own HDFS.
        steps = tuple(step for step in environment.mode.teardown if step != "check-log" or environment.wal is Wal.HDFS)
    for step in steps:
        title, act = acts[step]
        if step == "stop-hbase":
            yield silence
        yield _step(title, partial(run_on_primary, act))
    if "stop-hbase" not in steps:
        yield silence
    yield _step("remove the termination protection", unprotect)
    yield _step(f"terminate {cluster.id}", terminate)


def _step(title: str, act: Callable[[Say], str]) -> Stage:
    def run(say: Say) -> str:
        with translated(f"could not {title}", "run the same command again to continue"):
            return act(say)

    return Stage(title=title, act=run)
