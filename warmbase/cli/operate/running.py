"""The running cluster that a command shows and changes, and how its proposal is carried out."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from typing import Self, TypedDict

import click
from msgspec import Struct

from warmbase.changes.planned_cluster import deployable_cluster
from warmbase.cli.options import confirm
from warmbase.cli.page import Page, Row
from warmbase.cli.progress import TerminalProgress
from warmbase.cli.terminal import CLUSTER_WORDS
from warmbase.configurations.launch import Launch
from warmbase.environments.environment import Environment
from warmbase.environments.planning import chosen_cluster
from warmbase.environments.reader import read_environment
from warmbase.operations.aws.clients import Aws, Gate, environment_aws, examining
from warmbase.operations.aws.lock import environment_lock
from warmbase.operations.aws.progress import Stage, carry_out
from warmbase.operations.cluster.caches import Servers, read_progress
from warmbase.operations.cluster.description import DescribedCluster
from warmbase.operations.cluster.drift import read_running_cluster
from warmbase.operations.cluster.journals import HealJournal, Journals, RestartJournal
from warmbase.sizing.recovery import warmth


class AbandonOptions(TypedDict):
    """The options of a command that decide whether it asks and acts."""

    dry_run: bool
    yes: bool


class RunningCluster(Struct, frozen=True, kw_only=True):
    """A cluster of EMR with the plan that it was launched with, and the clients that reach it."""

    launch: Launch
    aws: Aws
    cluster: DescribedCluster

    @classmethod
    def read(
        cls,
        environment: str,
        cluster: str | None,
        refuse: Callable[[Launch], object] = lambda _: None,
        gate: Gate = examining,
    ) -> Self:
        """Return the cluster of that name, or the active one; `refuse` raises for a plan that it is not for."""
        read = read_environment(environment)
        launch = deployable_cluster(read, chosen_cluster(read, cluster).name).launch
        aws = environment_aws(read, os.environ, gate)
        refuse(launch)
        context = click.get_current_context(silent=True)
        if context is not None:
            name = launch.plan.cluster
            option = "" if name == read.active.name else f" --cluster {name}"
            context.meta[CLUSTER_WORDS] = f"{read.argument}{option}"
        return cls(launch=launch, aws=aws, cluster=read_running_cluster(aws, launch).cluster)

    @property
    def environment(self) -> Environment:
        """Return the environment that the cluster belongs to."""
        return self.launch.environment

    @property
    def journals(self) -> Journals:
        """Return the journals of the operations on the cluster's HBase."""
        bucket = self.environment.in_account(self.environment.log_bucket, self.aws.account)
        return Journals.of(self.aws, bucket, self.cluster.id)

    @property
    def title(self) -> str:
        """Return the line with which a page about the cluster begins."""
        return f"{self.launch.plan.cluster}: {self.cluster.id}, {self.cluster.state}"

    def caches(self, gate: warmth.Gate) -> Servers:
        """Return how full each cache is, and whether it passes the gate."""
        return read_progress(self.aws, self.launch, self.cluster.id, gate)

    def fill_warning(self) -> Iterator[Row]:
        """Yield a row if a cache is filling: for HBase, a prefetch that a closing region interrupts is complete."""
        servers = self.caches(warmth.Gate())
        filling = sum(server.verdict == "filling" for server in servers)
        if filling:
            text = (
                f"{filling} of {len(servers)} caches are filling. If a region closes while its files are prefetched,"
                " HBase leaves the rest of their blocks out of the cache. To wait until the caches are warm:"
                f" warmbase warm wait {self.environment.name}"
            )
            yield "fill", text

    def abandon(
        self,
        command: str,
        journal: RestartJournal | HealJournal | None,
        stages: Callable[[], Iterable[Stage]],
        options: AbandonOptions,
    ) -> None:
        """Show the interrupted operation and end it where it is. Without a journal, do nothing."""
        operation = command.partition(" ")[0]
        rows = [("current", f"no {operation} was interrupted"), ("proposed", "nothing to do")]
        if journal is not None:
            balancer = "on" if journal.balancer_was_on else "off"
            text = f"a {operation} was interrupted; before it, the balancer was {balancer}"
            rows = [("current", text), *(("proposed", stage.title) for stage in stages())]
        Page().show([self.title, *rows])
        if journal is not None and not options["dry_run"]:
            self.carry_out(f"{command} --abandon", "End it?", stages, yes=options["yes"])

    def carry_out(self, command: str, question: str, stages: Callable[[], Iterable[Stage]], *, yes: bool) -> None:
        """Ask unless `yes`, take the lock, and carry out what `stages` returns when it is called with the lock held."""
        if not yes:
            confirm(question)
        with environment_lock(self.aws, self.environment, command):
            carry_out(stages(), TerminalProgress())


def ignore(_: str) -> None:
    """Discard a line of progress."""
