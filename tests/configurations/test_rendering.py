"""Classifications: what is rendered, where it is set, and that the catalogue knows all of it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from xml.etree import ElementTree as ET

import pytest
from msgspec.structs import replace

from tests.configurations.variants import VARIANTS, Variant, variant_launch
from tests.shipped import ENVIRONMENTS
from warmbase.configurations.launch import Launch, classifications
from warmbase.configurations.metrics import METRICS
from warmbase.configurations.node_files import hbase_site_xml
from warmbase.configurations.properties import CATALOGUE, PropertyScope
from warmbase.configurations.properties.property import RenderingError
from warmbase.configurations.properties.storage import NIGHT_BEGINS, NIGHT_ENDS, hour_utc
from warmbase.emr.api import write_classifications
from warmbase.emr.cluster_spec import Classification, flattened, merged
from warmbase.environments.environment import Wal
from warmbase.facts.releases import releases
from warmbase.sizing.modes import HDFS, S3_CACHED

Launches = Callable[[str], Launch]
Golden = Callable[[str, str], None]

# Every key of the published recipe (AWS Big Data Blog, bucket caching on Amazon EMR).
RECIPE = {
    ("hbase", "hbase.emr.storageMode"),
    ("hbase-env/export", "HBASE_HEAPSIZE"),
    ("hbase-env/export", "HBASE_REGIONSERVER_GC_OPTS"),
    ("hbase-env/export", "HBASE_REGIONSERVER_OPTS"),
    ("hbase-env/export", "JAVA_HOME"),
    ("hbase-site", "hbase.rootdir"),
    ("hbase-site", "hbase.bucketcache.size"),
    ("hbase-site", "hbase.bucketcache.bucket.sizes"),
    ("hbase-site", "hbase.master.loadbalancer.class"),
    ("hbase-site", "hbase.bucketcache.persistent.path"),
    ("hbase-site", "hbase.bucketcache.writer.threads"),
    ("hbase-site", "hbase.bucketcache.writer.queuelength"),
    ("hbase-site", "hbase.rs.prefetchblocksonopen"),
    ("hbase-site", "hbase.rs.cacheblocksonwrite"),
    ("hbase-site", "hbase.rs.cachecompactedblocksonwrite"),
    ("hbase-site", "hbase.block.data.cachecompressed"),
    ("hbase-site", "hbase.master.scp.retain.assignment"),
    ("hbase-site", "hbase.master.scp.retain.assignment.force"),
    ("hbase-site", "hbase.master.scp.retain.assignment.force.retries"),
    ("emr-metrics/emr-hbase-region-server-metrics", "Hadoop:service=HBase,name=RegionServer,sub=Server"),
    ("emr-metrics/emr-hbase-region-server-metrics", "otel.metric.export.interval"),
}
# Without l2CacheHitRatio: a lifetime average that nothing draws, at the price of one that something does.
RECIPE_METRICS = {"writeRequestCount", "readRequestCount", "l2CacheHitCount", "l2CacheMissCount"}

Values = dict[tuple[str, str], str]


def values(settings: tuple[Classification, ...]) -> Values:
    return {(path, key): value for path, key, value in flattened(settings)}


def levels(launch: Launch) -> Iterator[tuple[PropertyScope, Values]]:
    return ((group, values(level)) for group, level in zip(PropertyScope, launch.settings, strict=True))


def document(settings: tuple[Classification, ...]) -> str:
    return json.dumps(write_classifications(settings), indent=2) + "\n"


@pytest.mark.parametrize("name", ENVIRONMENTS)
@pytest.mark.parametrize("group", list(PropertyScope))
def test_classifications_are_as_before(name: str, group: PropertyScope, launches: Launches, golden: Golden) -> None:
    golden(f"{name}/{group}.json", document(getattr(launches(name).settings, group)))


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_hbase_site_of_core_nodes_is_as_before(name: str, launches: Launches, golden: Golden) -> None:
    golden(f"{name}/hbase-site.xml", hbase_site_xml(launches(name).settings.effective("core")))


@pytest.mark.parametrize("variant", VARIANTS, ids=str)
@pytest.mark.parametrize("group", list(PropertyScope))
def test_every_mode_and_role_is_rendered_as_before(variant: Variant, group: PropertyScope, golden: Golden) -> None:
    golden(f"{variant}/{group}.json", document(getattr(variant_launch(variant).settings, group)))


@pytest.mark.parametrize("variant", VARIANTS, ids=str)
def test_three_primaries_are_set_as_one_is(variant: Variant) -> None:
    """EMR itself spreads HDFS, ZooKeeper and the master over them."""
    assert variant_launch(variant, primaries=1).settings == variant_launch(variant, primaries=3).settings


@pytest.mark.parametrize(
    "labels", [[*releases()][:: len(releases()) - 1], pytest.param([*releases()], marks=pytest.mark.thorough)]
)
def test_every_key_that_is_needed_somewhere_is_rendered_there(labels: list[str]) -> None:
    """A property that no variant renders is left at its default; docs/properties.md says which are."""
    rendered = {
        (group, *entry)
        for variant in VARIANTS
        for label in labels
        for group, level in levels(variant_launch(variant, label))
        for entry in level
    }
    wanted = {
        (group, *entry) for entry, catalogued in CATALOGUE.items() for group in catalogued.groups if catalogued.figure
    }
    assert wanted <= rendered


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_every_key_of_the_published_recipe_is_rendered(name: str, launches: Launches) -> None:
    settings = launches(name).settings
    rendered = values(settings.effective("primary")) | values(settings.effective("core"))
    assert set(rendered) >= RECIPE
    assert {metric.attribute for metric in METRICS} >= RECIPE_METRICS, "by EMR's agent, or windowed by the node"


IDENTITY = {
    ("hbase", "hbase.emr.storageMode"),
    ("hbase-site", "hbase.rootdir"),
    ("hbase-site", "hbase.store.file-tracker.impl"),
}
WAL = {
    ("hbase", "hbase.emr.wal.enabled"),
    ("hbase-site", "emr.wal.client.endpoint"),
    ("hbase-site", "emr.wal.workspace"),
}


@pytest.mark.parametrize("variant", VARIANTS, ids=str)
def test_only_storage_identity_is_set_for_the_whole_cluster(variant: Variant) -> None:
    expected = IDENTITY if variant.mode.keeps_data_in_s3 else {("hbase", "hbase.emr.storageMode")}
    expected = expected | WAL if variant.wal is Wal.EMR_WAL and variant.role == "active" else expected
    assert set(values(variant_launch(variant).settings.cluster)) == expected


def test_the_log_of_emr_is_reached_through_the_vpc_endpoint_and_has_its_own_provider() -> None:
    launch = variant_launch(Variant(S3_CACHED, wal=Wal.EMR_WAL))
    for group in ("primary", "core"):
        settings = values(launch.settings.effective(group))
        endpoint = settings["hbase-site", "emr.wal.client.endpoint"]
        assert endpoint == f"https://prod.emrwal.{launch.environment.region}.amazonaws.com"
        assert ("hbase-site", "hbase.wal.provider") not in settings


@pytest.mark.parametrize("variant", VARIANTS, ids=str)
def test_only_a_replica_is_one(variant: Variant) -> None:
    launch = variant_launch(variant)
    for group in ("primary", "core"):
        role = values(launch.settings.effective(group)).get(("hbase", "hbase.emr.readreplica.enabled"))
        assert (role == "true") == (variant.role == "replica")


@pytest.mark.parametrize("variant", VARIANTS, ids=str)
def test_a_log_in_hdfs_has_two_copies_at_least(variant: Variant) -> None:
    launch = variant_launch(variant)
    least = 3 if variant.mode is HDFS else 2
    for group in ("primary", "core"):
        assert int(values(launch.settings.effective(group))["hdfs-site", "dfs.replication"]) >= least


@pytest.mark.parametrize("variant", [variant for variant in VARIANTS if not variant.mode.has_bucket_cache], ids=str)
def test_without_a_cache_nothing_of_one_is_set(variant: Variant) -> None:
    launch = variant_launch(variant)
    for _, level in levels(launch):
        assert not [key for _, key in level if "bucketcache" in key or "retain" in key]
        assert "l2Cache" not in "".join(level.values())


def test_the_heap_has_one_place_and_a_fixed_size(launches: Launches) -> None:
    launch = launches("prod")
    core = values(launch.settings.core)
    options = core["hbase-env/export", "HBASE_REGIONSERVER_OPTS"]
    assert options.startswith('"$HBASE_REGIONSERVER_OPTS ')
    assert re.findall(r"-Xm[sx](\d+)m", options) == [str(launch.plan.heap.xmx_mib)] * 2
    assert ("hbase-env/export", "HBASE_HEAPSIZE") not in core
    assert core["hbase", "hbase.regionserver.fixed.heap.enabled"] == "true"


def test_one_collector_and_only_in_its_own_variable(launches: Launches) -> None:
    core = values(launches("prod").settings.core)
    with_collector = [key for key, value in core.items() if re.search(r"-XX:\+Use\w+GC", value)]
    assert with_collector == [("hbase-env/export", "HBASE_REGIONSERVER_GC_OPTS")]
    assert len(re.findall(r"-XX:\+Use\w+GC", core[with_collector[0]])) == 1


def test_a_heap_that_the_system_volume_cannot_take_is_not_dumped(launches: Launches) -> None:
    launch = launches("prod")
    for xmx_mib, dumped in ((24 * 1024, True), (24 * 1024 + 256, False)):
        plan = replace(launch.plan, heap=replace(launch.plan.heap, xmx_mib=xmx_mib))
        core = values(classifications(launch.environment, plan).core)
        assert ("HeapDumpPath=/warmbase/system/" in core["hbase-env/export", "HBASE_REGIONSERVER_OPTS"]) == dumped


@pytest.mark.parametrize("label", list(releases()))
def test_a_release_renders_what_it_documents(label: str) -> None:
    core = values(variant_launch(VARIANTS[0], label).settings.core)
    release = releases()[label]
    generational = "+ZGenerational" in core["hbase-env/export", "HBASE_REGIONSERVER_GC_OPTS"]
    assert generational == core["hbase-env/export", "JAVA_HOME"].endswith("21") == release.zgc_documented
    defect = ("hbase-site", "fs.s3a.experimental.input.fadvise") in core
    assert defect == (label in {"emr-7.10.0", "emr-7.11.0", "emr-7.12.0", "emr-7.13.0"})
    s3a = ("hbase-site", "fs.s3a.connection.maximum") in core
    assert s3a == (("core-site", "fs.s3a.retry.throttle.limit") in core) == (release.s3_connector == "s3a")
    assert s3a != (("emrfs-site", "fs.s3.maxConnections") in core)
    assert (("hbase-log4j2", "logger.bucketallocator.level") in core) == (release.emr >= (7, 9, 0))
    assert (("hbase-site", "hbase.rs.evictblocksonsplit") in core) == (release.hbase >= (2, 6, 3))


def test_the_cache_has_a_file_engine_for_its_index(launches: Launches) -> None:
    core = values(launches("prod").settings.core)
    assert core["hbase-site", "hbase.bucketcache.ioengine"].startswith("files:/warmbase/cache/")
    assert core["hbase-site", "hbase.bucketcache.persistent.path"].startswith("/warmbase/cache/")


PATHS = {
    ("hdfs-site", "dfs.datanode.data.dir"),
    ("yarn-site", "yarn.nodemanager.local-dirs"),
    ("hbase-site", "fs.s3a.buffer.dir"),
}


@pytest.mark.parametrize("variant", VARIANTS, ids=str)
def test_hdfs_yarn_and_uploads_stay_off_the_cache_volume(variant: Variant) -> None:
    core = values(variant_launch(variant).settings.core)
    for entry in PATHS & set(core):
        assert not core[entry].startswith("/warmbase/cache")


def test_data_in_hdfs_lies_on_every_data_volume() -> None:
    launch = variant_launch(Variant(HDFS))
    [data] = [volume for volume in launch.plan.core.volumes if volume.purpose == "data"]
    assert values(launch.settings.core)["hdfs-site", "dfs.datanode.data.dir"].count("/warmbase/data/") == data.count


@pytest.mark.parametrize(
    ("region", "hours"),
    [("us-east-1", (6, 10)), ("eu-central-1", (0, 4)), ("ap-south-1", (20, 0)), ("xx-new-1", (1, 5))],
)
def test_the_night_is_that_of_the_region(region: str, hours: tuple[int, int]) -> None:
    assert (hour_utc(NIGHT_BEGINS, region), hour_utc(NIGHT_ENDS, region)) == hours


@pytest.mark.parametrize("variant", VARIANTS, ids=str)
def test_large_files_wait_for_the_night_where_anything_is_compacted(variant: Variant) -> None:
    core = values(variant_launch(variant).settings.core)
    by_day, at_night = (
        core.get(("hbase-site", f"hbase.hstore.compaction.max.size{when}")) for when in ("", ".offpeak")
    )
    assert (by_day is None) == (at_night is None) == (variant.role == "replica")
    if by_day is not None and at_night is not None:
        assert int(by_day) < int(at_night)
        assert int(core["hbase-site", "hbase.hstore.compaction.throughput.offpeak"]) < 2**31


def test_hbase_site_parses_as_xml_and_says_the_same(launches: Launches) -> None:
    settings = launches("prod").settings.effective("core")
    root = ET.fromstring(hbase_site_xml(settings))  # noqa: S314 - our own text
    xml_properties = {element.findtext("name"): element.findtext("value") for element in root.iter("property")}
    assert xml_properties == {key: value for (path, key), value in values(settings).items() if path == "hbase-site"}


def test_a_size_that_is_not_whole_in_its_unit_is_refused(launches: Launches) -> None:
    launch = launches("prod")
    parts = {**launch.plan.memory.parts, "direct": launch.plan.memory.parts["direct"] + 1}
    with pytest.raises(ValueError, match="not whole MiB"):
        classifications(launch.environment, replace(launch.plan, memory=replace(launch.plan.memory, parts=parts)))


def test_a_value_that_the_catalogue_does_not_allow_is_a_fault_of_ours(launches: Launches) -> None:
    launch = launches("prod")
    plan = replace(launch.plan, handlers=0)
    with pytest.raises(
        RenderingError, match=r"core: hbase-site hbase.regionserver.handler.count: 0 is below 1 threads"
    ):
        classifications(launch.environment, plan)


def test_the_group_wins_over_the_cluster_property_by_property() -> None:
    below = Classification(name="hbase-site", properties={"a": "1", "b": "1"})
    above = Classification(name="hbase-site", properties={"b": "2"})
    assert merged([below], [above]) == (Classification(name="hbase-site", properties={"a": "1", "b": "2"}),)


@pytest.mark.parametrize("variant", VARIANTS, ids=str)
def test_every_name_of_a_region_is_that_of_the_environment(variant: Variant) -> None:
    """The name of a host in another region would be looked up in vain, or its service would know nothing of us."""
    launch = variant_launch(variant)
    settings = classifications(replace(launch.environment, region="eu-west-1"), launch.plan)
    texts = {(key, value) for level in settings for _, key, value in flattened(level) if value != launch.plan.root}
    regions = {(key, name) for key, value in texts for name in re.findall(r"\b[a-z]{2}-[a-z]+-\d\b", value)}
    assert {name for _, name in regions} == {"eu-west-1"}
    endpoint = {"emr.wal.client.endpoint"} if variant.wal is Wal.EMR_WAL and variant.role == "active" else set()
    assert {key for key, _ in regions} == {"fs.s3a.endpoint.region"} | endpoint
