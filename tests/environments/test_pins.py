"""An override of a property that states a figure pins the figure, or is refused: it never contradicts the plan."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.environments.test_reader import GOOD
from warmbase.configurations.launch import Launch, launch_of, overridden
from warmbase.configurations.properties import CATALOGUE
from warmbase.emr.cluster_spec import flattened
from warmbase.environments.environment import PINNED, PLANNED, Override
from warmbase.environments.planning import plan_of
from warmbase.environments.reader import read_environment
from warmbase.facts.keys import hadoop_keys, hbase_keys
from warmbase.ground.errors import InvalidInput
from warmbase.sizing.plan import Plan

STATED = {
    "hbase.regionserver.handler.count": ("200", "handlers", 200),
    "hbase.ipc.server.callqueue.read.ratio": ("0.6", "call_queues.read_fraction", 0.6),
    "hbase.hfile.thread.prefetch": ("48", "prefetch_threads", 48),
    "hbase.regionserver.executor.openregion.threads": ("7", "open_region_threads", 7),
    "fs.s3a.connection.maximum": ("900", "s3_connections", 900),
    "hbase.hregion.max.filesize": (str(5 * 2**30), "regions.split_bytes", 5 * 2**30),
    "hbase.master.scp.retain.assignment.force.retries": ("14", "restart.retain_retries", 14),
    "hbase.hstore.flusher.count": ("4", "writes.settings.flushers", 4),
    "hbase.regionserver.thread.compaction.small": ("5", "writes.settings.small_compactions", 5),
    "hbase.regionserver.thread.compaction.large": ("2", "writes.settings.large_compactions", 2),
    "hbase.hstore.compaction.throughput.lower.bound": ("60000000", "writes.settings.compaction_lower_bytes", 6 * 10**7),
    "hbase.hstore.compaction.throughput.higher.bound": (
        "90000000",
        "writes.settings.compaction_higher_bytes",
        9 * 10**7,
    ),
    "hbase.hstore.compaction.throughput.offpeak": ("70000000", "writes.settings.night_bytes", 7 * 10**7),
    "hbase.hstore.compaction.max.size": ("4294967296", "writes.settings.day_limit_bytes", 4 * 2**30),
    "hbase.hstore.compaction.min.size": ("3145728", "writes.settings.min_size_bytes", 3 * 2**20),
    "hbase.hstore.blockingStoreFiles": ("20", "writes.settings.blocking_store_files", 20),
}
"""An override of hbase-site with the figure that it pins, for each pin."""
SITES = {"hbase-site", "hdfs-site", "yarn-site"}
Write = Callable[[str], Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def text_in_file(overrides: str) -> Path:
        file = tmp_path / "try.yaml"
        file.write_text(f"{GOOD}overrides:\n{overrides}")
        return file

    return text_in_file


def launch_in(file: Path) -> Launch:
    environment = read_environment(str(file))
    return launch_of(environment, environment.active)


def plan_in(file: Path) -> Plan:
    environment = read_environment(str(file))
    return plan_of(environment, environment.active)


@pytest.mark.parametrize("key", STATED)
def test_a_pin_is_the_figure_and_the_rendered_value(key: str, write: Write) -> None:
    text, figure, value = STATED[key]
    launch = launch_in(write(f'  hbase-site: {{{key}: "{text}"}}\n'))
    assert launch.plan.figure(figure) == value
    assert launch.plan.because[figure].value == value
    rendered = {at: stated for level in launch.settings for path, at, stated in flattened(level)}
    assert rendered[key] == text


def test_every_pin_is_tried() -> None:
    assert {key for path, key in PINNED if path == "hbase-site"} == set(STATED)


def test_what_follows_from_a_pin_moves_with_it(write: Write) -> None:
    free = plan_in(write('  hbase-site: {hbase.rpc.timeout: "90000"}\n'))
    plan = plan_in(write('  hbase-site: {hbase.regionserver.handler.count: "200", hbase.hfile.thread.prefetch: "2"}\n'))
    handlers = next(resource for resource in plan.throughput.resources if resource.name == "handlers")
    assert handlers.capacity == plan.core.count * 200
    assert plan.memory.parts["direct"] >= 200 * 62 * 66_560 > free.memory.parts["direct"]
    assert plan.warm_up.prefetch_seconds > free.warm_up.prefetch_seconds
    assert plan.call_queues.read_handlers == 200


def test_a_pinned_read_fraction_splits_the_handlers(write: Write) -> None:
    pinned = '{hbase.regionserver.handler.count: "50", hbase.ipc.server.callqueue.read.ratio: "0.6"}'
    assert plan_in(write(f"  hbase-site: {pinned}\n")).call_queues.read_handlers == 30


def test_a_pinned_retention_window_is_the_one_that_the_plan_states(write: Write) -> None:
    plan = plan_in(write('  hbase-site: {hbase.master.scp.retain.assignment.force.retries: "10"}\n'))
    assert plan.restart.retention_window_seconds == pytest.approx(0.05 * (2**10 - 1))


@pytest.mark.parametrize("at", PLANNED, ids=lambda at: at[1])
def test_an_override_of_another_figure_is_refused_with_what_to_do(at: tuple[str, str], write: Write) -> None:
    path, key = at
    with pytest.raises(InvalidInput) as refused:
        read_environment(str(write(f'  {path}: {{{key}: "7"}}\n')))
    [problem] = refused.value.problems
    assert problem.where.endswith(":14")
    assert problem.what == f"overrides.{path}.{key}"
    assert "so the calculator chooses it" in problem.why
    assert problem.fix == PLANNED[at]


BAD = [
    ("hbase.regionserver.handler.count", "0", "from 1 to 2,147,483,647"),
    ("hbase.regionserver.handler.count", "many", "'many' is not a whole number"),
    ("hbase.regionserver.handler.count", "${HANDLERS}", "is not a whole number"),
    ("hbase.hfile.thread.prefetch", "1.5", "is not a whole number"),
    ("hbase.ipc.server.callqueue.read.ratio", "1.5", "is not a number from 0 to 1"),
    ("hbase.ipc.server.callqueue.read.ratio", "nan", "is not a number from 0 to 1"),
    ("hbase.master.scp.retain.assignment.force.retries", "600", "is not a whole number from 0 to 25"),
]


@pytest.mark.parametrize(("key", "text", "why"), BAD)
def test_a_pin_that_is_no_valid_number_is_refused(key: str, text: str, why: str, write: Write) -> None:
    with pytest.raises(InvalidInput) as refused:
        read_environment(str(write(f'  hbase-site: {{{key}: "{text}"}}\n')))
    assert why in refused.value.problems[0].why


def test_every_property_that_states_a_figure_is_a_pin_or_has_advice() -> None:
    """A new property that states a figure must be in one of the two tables of warmbase/environments/environment.py."""
    stating = {at for at, entry in CATALOGUE.items() if entry.figure}
    assert stating <= {*PINNED, *PLANNED}


def test_every_refused_property_exists() -> None:
    known = {*hbase_keys(), *hadoop_keys()}
    assert [key for path, key in (*PLANNED, *PINNED) if path in SITES and key not in known] == []


def test_an_override_without_advice_of_a_figure_is_refused_when_it_is_rendered() -> None:
    launch = launch_of(read_environment("dev"), read_environment("dev").active)
    override = Override(classification="hbase-site", key="hbase.bucketcache.size", value="7", where="dev.yaml:9")
    with pytest.raises(InvalidInput, match=r"states the plan's figure bucket_cache\.size_mib"):
        overridden(launch.settings, [override])
