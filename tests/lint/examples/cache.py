"""The cache: slots, files, shares, and what fills it."""

from __future__ import annotations

from tests.lint.examples.case import Case, value_case
from tests.lint.examples.file import IN_HDFS, NOT_PERSISTENT, File

SIZE = "hbase.bucketcache.size"
ENGINE = "hbase.bucketcache.ioengine"
SLOTS = "hbase.bucketcache.bucket.sizes"
TWO_FILES = "files:/mnt1/hbase/cache,/mnt2/hbase/cache"

CACHE = (
    Case("WB201", SIZE, "0.4 MiB", File({SIZE: "0.4"}), File({SIZE: "1", SLOTS: "66560"})),
    value_case(
        "WB202", SLOTS, "66560,532490", "66560,532480", "532,490 is not a multiple of 256; the next multiple is 532,736"
    ),
    value_case("WB203", SLOTS, "65536", "65792", "a block takes 65,590"),
    value_case("WB204", SIZE, "4", "5", "2 sizes need a bucket of 2,129,920 bytes each, 5 MiB in all"),
    value_case(
        "WB205", SLOTS, "66560,132096", "66560,133120", "slots of 66,560 bytes leave 11.8% of each bucket of 528,384"
    ),
    Case(
        "WB206",
        "hbase.bucketcache.single.factor",
        "in float32",
        File(
            {
                "hbase.bucketcache.single.factor": "0.15",
                "hbase.bucketcache.multi.factor": "0.65",
                "hbase.bucketcache.memory.factor": "0.20",
            }
        ),
        File(
            {
                "hbase.bucketcache.single.factor": "0.20",
                "hbase.bucketcache.multi.factor": "0.50",
                "hbase.bucketcache.memory.factor": "0.30",
            }
        ),
    ),
    value_case(
        "WB207",
        "hbase.bucketcache.minfactor",
        "0.96",
        "0.95",
        "eviction would start at 0.95 and stop only at 0.96, which is higher",
    ),
    value_case("WB208", "hfile.block.cache.size", "0", "0.0002", "L1 and the BucketCache"),
    Case(
        "WB209",
        "hbase.regionserver.global.memstore.size",
        "L1 (0.1) and memstore (0.71) exceed 0.8 of the heap",
        File({"hfile.block.cache.size": "0.1", "hbase.regionserver.global.memstore.size": "0.71"}, volume={}),
        File({"hfile.block.cache.size": "0.1", "hbase.regionserver.global.memstore.size": "0.70"}),
    ),
    value_case("WB210", ENGINE, "files:/mnt1/a:/mnt1/b", "files:/mnt1/a", "takes the colon as part of a single path"),
    Case(
        "WB211",
        SIZE,
        "512,001 MiB cannot be divided evenly over 2 files",
        File({ENGINE: TWO_FILES, SIZE: "512001"}, volumes=2, volume={"Throughput": 125}),
        File({ENGINE: TWO_FILES, SIZE: "512000"}, volumes=2, volume={"Throughput": 125}),
    ),
    Case(
        "WB212",
        ENGINE,
        "2 files fill one after the other",
        File({ENGINE: TWO_FILES, SIZE: "891288"}, volumes=2, volume={"SizeInGB": 1024, "Throughput": 125}),
        File({ENGINE: TWO_FILES, SIZE: "891290"}, volumes=2, volume={"SizeInGB": 1024, "Throughput": 125}),
    ),
    Case(
        "WB213",
        SIZE,
        "a cache of 500 GiB in 1 file does not fit",
        File(volume={"SizeInGB": 499}),
        File(volume={"SizeInGB": 600}),
    ),
    Case(
        "WB214",
        SIZE,
        "fills 85% of its volume of 587 GiB",
        File(volume={"SizeInGB": 587}),
        File(volume={"SizeInGB": 589}),
    ),
    value_case("WB215", ENGINE, None, None, "the location of the cache is not set"),
    Case(
        "WB216",
        SIZE,
        "there is no cache: the size has no effect without an engine",
        File({**NOT_PERSISTENT, ENGINE: None, "hbase.rootdir": None}, others=IN_HDFS),
        File({**NOT_PERSISTENT, "hbase.rootdir": None}, others=IN_HDFS),
    ),
    value_case("WB217", SIZE, None, None, "each RegionServer gets only EMR's default cache of 8 GiB"),
    value_case("WB218", "hbase.bucketcache.queue.addition.waittime", "0", "1", "prefetch leaves files partly cached"),
    value_case("WB219", "hbase.block.data.cacheonread", "false", "true", "reads do not fill the cache"),
    value_case("WB220", "hbase.hfile.thread.prefetch", "4", "5", "4 threads prefetch"),
    Case(
        "WB221",
        "hbase.rs.cachecompactedblocksonwrite",
        "the first compaction drops them",
        File({"hbase.rs.cacheblocksonwrite": "true"}),
        File({"hbase.rs.cacheblocksonwrite": "true", "hbase.rs.cachecompactedblocksonwrite": "true"}),
    ),
    value_case("WB222", "hbase.bucketcache.combinedcache.enabled", "false", "true", "always combined"),
    value_case("WB223", "hfile.block.cache.size.max.range", "0.4", None, "HBase moves memory"),
    Case(
        "WB224",
        SIZE,
        "2,156,108,080 blocks are more than HBase can count (2^31)",
        File({"hbase.blockcache.minblocksize": "249"}),
        File({"hbase.blockcache.minblocksize": "251"}),
    ),
    value_case("WB225", "hbase.blockcache.use.external", "true", "false", "memcached"),
    Case(
        "WB226",
        "hbase.lru.blockcache.multi.percentage",
        "add up to 1.1",
        File({"hbase.lru.blockcache.multi.percentage": "0.6"}),
        File({"hbase.lru.blockcache.multi.percentage": "0.6", "hbase.lru.blockcache.memory.percentage": "0.15"}),
    ),
    value_case(
        "WB227", "hbase.lru.blockcache.min.factor", "0.99", "0.98", "L1 would start to evict at 0.99 and stop at 0.99"
    ),
    value_case(
        "WB228",
        "hbase.client.keyvalue.maxsize",
        "10485761",
        "10485760",
        "cells of up to 10,485,761 bytes are accepted, but the largest slot has 532,480 bytes",
    ),
)
