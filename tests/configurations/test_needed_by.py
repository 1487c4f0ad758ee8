"""Every key on which a figure, an operation or a scenario of the lab depends is rendered, and marked as such."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

import pytest

from tests.configurations.variants import VARIANTS, Variant, variant_launch
from warmbase.configurations.node_files import site_properties
from warmbase.configurations.properties import CATALOGUE, HBaseProperty
from warmbase.configurations.properties.property import number
from warmbase.emr.cluster_spec import flattened
from warmbase.facts.keys import hadoop_keys, hbase_keys
from warmbase.facts.releases import releases
from warmbase.operations.hbase.emr_hbase import REGION_SERVER_PORT
from warmbase.stacks.network import CLIENT_PORTS

PROJECT = Path(__file__).parents[2]
RELYING = (
    "warmbase/sizing",
    "warmbase/operations",
    "bootstrap-actions",
    "lab/prediction.py",
    "lab/scaled_plan.py",
    "lab/hbase/scenarios",
)
KEY = re.compile(r"(?<![\w./-])[a-z][\w-]*(?:\.[\w-]+)+")
CLIENT = "clients have settings of their own: warmbase clients"
VARIED = "only the scenario itself sets it, and states its value"
ASKED = "warmbase reads what the cluster has, and relies on no value"
NOT_RENDERED: Mapping[str, str] = {
    "hbase.assignment.rit.chore.interval.msec": VARIED,
    "hbase.client.meta.operation.timeout": CLIENT,
    "hbase.client.operation.timeout": CLIENT,
    "hbase.client.pause": CLIENT,
    "hbase.client.retries.number": CLIENT,
    "hbase.client.scanner.max.result.size": CLIENT,
    "hbase.coprocessor.master.classes": "the canary looks for EMR's coprocessors, and relies on none",
    "hbase.hfile.prefetch.delay.variation": VARIED,
    "hbase.hstore.compaction.throughput.control.check.interval": VARIED,
    "hbase.hstore.compaction.throughput.tune.period": VARIED,
    "hbase.ipc.server.listen.queue.size": "the kernel's limit is raised for whatever HBase asks for",
    "hbase.ipc.server.max.callqueue.length": VARIED,
    "hbase.metrics.rit.stuck.warning.threshold": VARIED,
    "hbase.regions.slop": "the fraction is the plan's own; the cache-aware balancer does not read the key",
    "hbase.regionserver.maxlogs": "HBase computes it from the memstore; a number would not follow a change of the heap",
    "hbase.rpc.timeout": CLIENT,
    "hbase.wal.dir": ASKED,
    "hbase.wal.meta_provider": VARIED,
    "hbase.wal.provider": VARIED,
}
"""Keys that the code names and warmbase does not render, each with the reason."""
OTHER_VALUE = {
    "dfs.client.read.shortcircuit",
    "dfs.client.refresh.read-block-locations.ms",
    "hbase.bucketcache.queue.addition.waittime",
    "hbase.hregion.majorcompaction",
    "hbase.hstore.compaction.ratio.offpeak",
    "hbase.locality.inputstream.derive.enabled",
    "hbase.master.balancer.maxRitPercent",
    "hbase.master.loadbalancer.class",
    "hbase.master.scp.retain.assignment",
    "hbase.master.scp.retain.assignment.force",
    "hbase.offpeak.end.hour",
    "hbase.offpeak.start.hour",
    "hbase.reopen.table.regions.progressive.batch.backoff.ms",
    "hbase.reopen.table.regions.progressive.batch.size.max",
    "hbase.rs.cacheblocksonwrite",
    "hbase.rs.cachecompactedblocksonwrite",
    "zookeeper.session.timeout",
}
"""Marked keys to which warmbase means to give another value than HBase does; the catalogue has the reason."""


@cache
def named() -> Mapping[str, list[str]]:
    """The keys of HBase and Hadoop that the code of the relying rooms names, with the places."""
    keys = {*hbase_keys(), *hadoop_keys()}
    places: dict[str, list[str]] = {}
    for room in RELYING:
        for file in (PROJECT / room, *sorted((PROJECT / room).rglob("*"))):
            if file.suffix in {".py", ".rb", ".sh"}:
                for key in KEY.findall(file.read_text(encoding="utf-8")):
                    if key in keys:
                        places.setdefault(key, []).append(str(file.relative_to(PROJECT)))
    return places


def test_every_key_that_the_code_names_is_rendered_and_marked() -> None:
    for key, places in named().items():
        entries = [entry for (_, name), entry in CATALOGUE.items() if name == key]
        marked = [entry for entry in entries if entry.figure or entry.needed_by]
        assert (key in NOT_RENDERED) != any(entry.is_rendered for entry in marked), (key, places)


@pytest.mark.parametrize("key", NOT_RENDERED)
def test_every_exception_is_still_named(key: str) -> None:
    assert key in named()


@pytest.mark.parametrize("entry", [entry for entry in CATALOGUE.values() if entry.needed_by], ids=lambda e: e.key)
def test_a_marked_key_is_rendered_and_states_no_figure(entry: HBaseProperty) -> None:
    assert entry.is_rendered
    assert not entry.figure
    assert not entry.needed_by.endswith(".")


def constants_of_a_default() -> Iterator[tuple[str, str]]:
    """The lines of sizing that give a constant and call it a default of HBase or Hadoop."""
    for file in sorted((PROJECT / "warmbase" / "sizing").rglob("*.py")):
        for line in file.read_text(encoding="utf-8").splitlines():
            if ": Final = " in line and re.search(r"(?:HBase|Hadoop)\S* (?:\S+ )?default", line):
                yield f"{file.name}: {line.strip()[:40]}", line


def test_a_constant_that_is_a_default_names_its_key() -> None:
    for place, line in constants_of_a_default():
        assert any(key in named() for key in KEY.findall(line)), place


def test_a_marked_key_has_the_default_of_hbase_unless_another_value_is_meant() -> None:
    release = releases()["emr-7.12.0"]
    others = set()
    launches = [variant_launch(variant) for variant in VARIANTS]
    for path, key, value in (
        setting for launch in launches for level in launch.settings for setting in flattened(level)
    ):
        tables = ((hbase_keys(), release.hbase), (hadoop_keys(), release.hadoop))
        default = next(
            (text for keys, version in tables if key in keys if (text := keys[key].default_in(version))), None
        )
        if CATALOGUE[path, key].needed_by and default and "$" not in default and plain(value) != plain(default):
            others.add(key)
    assert others == OTHER_VALUE


def plain(text: str) -> float | str:
    """A value as a number where it is one: `64M` and 67108864 are the same, and so are `1.2F` and 1.2."""
    size = re.fullmatch(r"(\d+)([KM])", text)
    if size:
        return float(int(size[1]) << (10 if size[2] == "K" else 20))
    return number(text) if number(text) is not None else number(text.rstrip("LFf")) or text  # type: ignore[return-value]


def test_ports_are_those_that_programs_and_security_groups_name() -> None:
    launch = variant_launch(VARIANTS[0])
    core, primary = (site_properties(launch.settings.effective(group)) for group in ("core", "primary"))
    assert core["hbase.regionserver.port"] == str(REGION_SERVER_PORT) == str(CLIENT_PORTS["HBase RegionServer"])
    assert primary["hbase.master.port"] == str(CLIENT_PORTS["HBase master"])
    for program in (
        "warmbase/operations/on_node/probe_hbase.py",
        "bootstrap-actions/programs/publish_cache_metrics.py",
    ):
        assert f"127.0.0.1:{core['hbase.regionserver.info.port']}" in (PROJECT / program).read_text(encoding="utf-8")


@pytest.mark.parametrize("variant", VARIANTS, ids=str)
def test_each_group_repeats_the_identity_of_the_storage(variant: Variant) -> None:
    settings = variant_launch(variant).settings
    identity = {(path, key): value for path, key, value in flattened(settings.cluster)}
    assert identity
    for group in (settings.primary, settings.core):
        assert identity.items() <= {(path, key): value for path, key, value in flattened(group)}.items()


@pytest.mark.parametrize("label", [label for label, release in releases().items() if release.s3_connector == "s3a"])
@pytest.mark.parametrize("variant", VARIANTS, ids=str)
def test_each_group_states_the_region_of_s3(variant: Variant, label: str) -> None:
    launch = variant_launch(variant, label)
    for group in (launch.settings.primary, launch.settings.core):
        values = {(path, key): value for path, key, value in flattened(group)}
        assert values["core-site", "fs.s3a.endpoint.region"] == launch.environment.region
