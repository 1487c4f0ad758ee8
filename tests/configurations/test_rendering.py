"""Classifications: what is rendered, where it is set, and that the catalogue knows all of it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from xml.etree import ElementTree as ET

import pytest

from configurations.classification import Classification, flattened, merged
from configurations.hbase_site import hbase_site_xml
from configurations.launch import Launch
from configurations.properties import CATALOGUE, Group
from configurations.rendering import RenderingError, classifications
from facts.releases import releases
from tests.shipped import ENVIRONMENTS

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
RECIPE_METRICS = {"writeRequestCount", "readRequestCount", "l2CacheHitCount", "l2CacheMissCount", "l2CacheHitRatio"}


def values(settings: tuple[Classification, ...]) -> dict[tuple[str, str], str]:
    return {(path, key): value for path, key, value in flattened(settings)}


@pytest.mark.parametrize("name", ENVIRONMENTS)
@pytest.mark.parametrize("group", list(Group))
def test_classifications_are_as_before(name: str, group: Group, launches: Launches, golden: Golden) -> None:
    settings = launches(name).settings
    level = dict(zip(Group, settings, strict=True))[group]
    golden(f"{name}/{group}.json", json.dumps([each.document() for each in level], indent=2) + "\n")


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_hbase_site_of_core_nodes_is_as_before(name: str, launches: Launches, golden: Golden) -> None:
    golden(f"{name}/hbase-site.xml", hbase_site_xml(launches(name).settings.effective("core")))


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_every_key_of_the_published_recipe_is_rendered(name: str, launches: Launches) -> None:
    settings = launches(name).settings
    rendered = values(settings.effective("primary")) | values(settings.effective("core"))
    assert set(rendered) >= RECIPE
    metrics = rendered[
        "emr-metrics/emr-hbase-region-server-metrics", "Hadoop:service=HBase,name=RegionServer,sub=Server"
    ]
    assert set(metrics.split(",")) >= RECIPE_METRICS


def test_everything_in_the_catalogue_is_rendered_and_nothing_else(launches: Launches) -> None:
    settings = launches("prod").settings
    for group, level in zip(Group, settings, strict=True):
        assert set(values(level)) == {entry for entry, known in CATALOGUE.items() if group in known.groups}


def test_only_storage_identity_is_set_for_the_whole_cluster(launches: Launches) -> None:
    assert set(values(launches("prod").settings.cluster)) == {
        ("hbase", "hbase.emr.storageMode"),
        ("hbase-site", "hbase.rootdir"),
        ("hbase-site", "hbase.store.file-tracker.impl"),
    }


def test_the_heap_is_stated_once_and_fixed(launches: Launches) -> None:
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


@pytest.mark.parametrize("label", list(releases()))
def test_each_release_renders_what_it_documents(label: str, launches: Launches) -> None:
    launch = launches("prod")
    collector = releases()[label].collector
    plan = replace(launch.plan, release=label, heap=replace(launch.plan.heap, collector=collector))
    core = values(classifications(plan).core)
    generational = "+ZGenerational" in core["hbase-env/export", "HBASE_REGIONSERVER_GC_OPTS"]
    assert generational == core["hbase-env/export", "JAVA_HOME"].endswith("21") == releases()[label].zgc_documented
    defect = ("hbase-site", "fs.s3a.experimental.input.fadvise") in core
    assert defect == (label in {"emr-7.10.0", "emr-7.11.0", "emr-7.12.0", "emr-7.13.0"})


def test_the_cache_has_a_file_engine_for_its_index(launches: Launches) -> None:
    core = values(launches("prod").settings.core)
    assert core["hbase-site", "hbase.bucketcache.ioengine"].startswith("files:/warmbase/cache/")
    assert core["hbase-site", "hbase.bucketcache.persistent.path"].startswith("/warmbase/cache/")


def test_hdfs_and_yarn_stay_off_the_cache_volume(launches: Launches) -> None:
    core = values(launches("prod").settings.core)
    for entry in (("hdfs-site", "dfs.datanode.data.dir"), ("yarn-site", "yarn.nodemanager.local-dirs")):
        assert core[entry].startswith("/warmbase/system/")


def test_hbase_site_parses_as_xml_and_says_the_same(launches: Launches) -> None:
    settings = launches("prod").settings.effective("core")
    root = ET.fromstring(hbase_site_xml(settings))  # noqa: S314 - our own text
    found = {element.findtext("name"): element.findtext("value") for element in root.iter("property")}
    assert found == {key: value for (path, key), value in values(settings).items() if path == "hbase-site"}


def test_a_size_that_is_not_whole_in_its_unit_is_refused(launches: Launches) -> None:
    plan = launches("prod").plan
    parts = {**plan.memory.parts, "direct": plan.memory.parts["direct"] + 1}
    with pytest.raises(RenderingError, match="not whole MiB"):
        classifications(replace(plan, memory=replace(plan.memory, parts=parts)))


def test_the_group_wins_over_the_cluster_property_by_property() -> None:
    below = Classification(name="hbase-site", properties={"a": "1", "b": "1"})
    above = Classification(name="hbase-site", properties={"b": "2"})
    assert merged([below], [above]) == (Classification(name="hbase-site", properties={"a": "1", "b": "2"}),)


def test_a_value_that_is_not_text_is_refused() -> None:
    with pytest.raises(TypeError, match="EMR takes strings"):
        Classification.parse({"Classification": "hbase-site", "Properties": {"a": 1}})
