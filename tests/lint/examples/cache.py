"""The cache: slots, files, shares, and what fills it."""

from __future__ import annotations

from tests.lint.examples.case import Case
from tests.lint.examples.file import IN_HDFS, NOT_PERSISTENT, File

SIZE = "hbase.bucketcache.size"
ENGINE = "hbase.bucketcache.ioengine"
SLOTS = "hbase.bucketcache.bucket.sizes"
TWO_FILES = "files:/mnt1/hbase/cache,/mnt2/hbase/cache"

CACHE = (
    Case(
        id="WB201",
        faulty=File(site={SIZE: "0.4"}),
        right=File(site={SIZE: "1", SLOTS: "66560"}),
        at=SIZE,
        says="0.4 MiB",
    ),
    Case(
        id="WB202",
        faulty=File(site={SLOTS: "66560,532490"}),
        right=File(site={SLOTS: "66560,532480"}),
        at=SLOTS,
        says="532,490 is not a multiple of 256; the next multiple is 532,736",
    ),
    Case(
        id="WB203",
        faulty=File(site={SLOTS: "65536"}),
        right=File(site={SLOTS: "65792"}),
        at=SLOTS,
        says="a block takes 65,590",
    ),
    Case(
        id="WB204",
        faulty=File(site={SIZE: "4"}),
        right=File(site={SIZE: "5"}),
        at=SIZE,
        says="2 sizes need a bucket of 2,129,920 bytes each, 5 MiB in all",
    ),
    Case(
        id="WB205",
        faulty=File(site={SLOTS: "66560,132096"}),
        right=File(site={SLOTS: "66560,133120"}),
        at=SLOTS,
        says="slots of 66,560 bytes leave 11.8% of each bucket of 528,384",
    ),
    Case(
        id="WB206",
        faulty=File(
            site={
                "hbase.bucketcache.single.factor": "0.15",
                "hbase.bucketcache.multi.factor": "0.65",
                "hbase.bucketcache.memory.factor": "0.20",
            }
        ),
        right=File(
            site={
                "hbase.bucketcache.single.factor": "0.20",
                "hbase.bucketcache.multi.factor": "0.50",
                "hbase.bucketcache.memory.factor": "0.30",
            }
        ),
        at="hbase.bucketcache.single.factor",
        says="in float32",
    ),
    Case(
        id="WB207",
        faulty=File(site={"hbase.bucketcache.minfactor": "0.96"}),
        right=File(site={"hbase.bucketcache.minfactor": "0.95"}),
        at="hbase.bucketcache.minfactor",
        says="eviction would start at 0.95 and stop only at 0.96, which is higher",
    ),
    Case(
        id="WB208",
        faulty=File(site={"hfile.block.cache.size": "0"}),
        right=File(site={"hfile.block.cache.size": "0.0002"}),
        at="hfile.block.cache.size",
        says="L1 and the BucketCache",
    ),
    Case(
        id="WB209",
        faulty=File(
            site={"hfile.block.cache.size": "0.1", "hbase.regionserver.global.memstore.size": "0.71"},
            volume={},
        ),
        right=File(site={"hfile.block.cache.size": "0.1", "hbase.regionserver.global.memstore.size": "0.70"}),
        at="hbase.regionserver.global.memstore.size",
        says="L1 (0.1) and memstore (0.71) exceed 0.8 of the heap",
    ),
    Case(
        id="WB210",
        faulty=File(site={ENGINE: "files:/mnt1/a:/mnt1/b"}),
        right=File(site={ENGINE: "files:/mnt1/a"}),
        at=ENGINE,
        says="takes the colon as part of a single path",
    ),
    Case(
        id="WB211",
        faulty=File(site={ENGINE: TWO_FILES, SIZE: "512001"}, volumes=2, volume={"Throughput": 125}),
        right=File(site={ENGINE: TWO_FILES, SIZE: "512000"}, volumes=2, volume={"Throughput": 125}),
        at=SIZE,
        says="512,001 MiB cannot be divided evenly over 2 files",
    ),
    Case(
        id="WB212",
        faulty=File(site={ENGINE: TWO_FILES, SIZE: "891288"}, volumes=2, volume={"SizeInGB": 1024, "Throughput": 125}),
        right=File(site={ENGINE: TWO_FILES, SIZE: "891290"}, volumes=2, volume={"SizeInGB": 1024, "Throughput": 125}),
        at=ENGINE,
        says="2 files fill one after the other",
    ),
    Case(
        id="WB213",
        faulty=File(volume={"SizeInGB": 499}),
        right=File(volume={"SizeInGB": 600}),
        at=SIZE,
        says="a cache of 500 GiB in 1 file does not fit",
    ),
    Case(
        id="WB214",
        faulty=File(volume={"SizeInGB": 587}),
        right=File(volume={"SizeInGB": 589}),
        at=SIZE,
        says="fills 85% of its volume of 587 GiB",
    ),
    Case(id="WB215", faulty=File(site={ENGINE: None}), at=ENGINE, says="the location of the cache is not set"),
    Case(
        id="WB216",
        faulty=File(site={**NOT_PERSISTENT, ENGINE: None, "hbase.rootdir": None}, others=IN_HDFS),
        right=File(site={**NOT_PERSISTENT, "hbase.rootdir": None}, others=IN_HDFS),
        at=SIZE,
        says="there is no cache: the size has no effect without an engine",
    ),
    Case(
        id="WB217",
        faulty=File(site={SIZE: None}),
        at=SIZE,
        says="each RegionServer gets only EMR's default cache of 8 GiB",
    ),
    Case(
        id="WB218",
        faulty=File(site={"hbase.bucketcache.queue.addition.waittime": "0"}),
        right=File(site={"hbase.bucketcache.queue.addition.waittime": "1"}),
        at="hbase.bucketcache.queue.addition.waittime",
        says="prefetch leaves files partly cached",
    ),
    Case(
        id="WB219",
        faulty=File(site={"hbase.block.data.cacheonread": "false"}),
        right=File(site={"hbase.block.data.cacheonread": "true"}),
        at="hbase.block.data.cacheonread",
        says="reads do not fill the cache",
    ),
    Case(
        id="WB220",
        faulty=File(site={"hbase.hfile.thread.prefetch": "4"}),
        right=File(site={"hbase.hfile.thread.prefetch": "5"}),
        at="hbase.hfile.thread.prefetch",
        says="4 threads prefetch",
    ),
    Case(
        id="WB221",
        faulty=File(site={"hbase.rs.cacheblocksonwrite": "true"}),
        right=File(site={"hbase.rs.cacheblocksonwrite": "true", "hbase.rs.cachecompactedblocksonwrite": "true"}),
        at="hbase.rs.cachecompactedblocksonwrite",
        says="the first compaction drops them",
    ),
    Case(
        id="WB222",
        faulty=File(site={"hbase.bucketcache.combinedcache.enabled": "false"}),
        right=File(site={"hbase.bucketcache.combinedcache.enabled": "true"}),
        at="hbase.bucketcache.combinedcache.enabled",
        says="always combined",
    ),
    Case(
        id="WB223",
        faulty=File(site={"hfile.block.cache.size.max.range": "0.4"}),
        at="hfile.block.cache.size.max.range",
        says="HBase moves memory",
    ),
    Case(
        id="WB224",
        faulty=File(site={"hbase.blockcache.minblocksize": "249"}),
        right=File(site={"hbase.blockcache.minblocksize": "251"}),
        at=SIZE,
        says="2,156,108,080 blocks are more than HBase can count (2^31)",
    ),
    Case(
        id="WB225",
        faulty=File(site={"hbase.blockcache.use.external": "true"}),
        right=File(site={"hbase.blockcache.use.external": "false"}),
        at="hbase.blockcache.use.external",
        says="memcached",
    ),
    Case(
        id="WB226",
        faulty=File(site={"hbase.lru.blockcache.multi.percentage": "0.6"}),
        right=File(
            site={"hbase.lru.blockcache.multi.percentage": "0.6", "hbase.lru.blockcache.memory.percentage": "0.15"}
        ),
        at="hbase.lru.blockcache.multi.percentage",
        says="add up to 1.1",
    ),
    Case(
        id="WB227",
        faulty=File(site={"hbase.lru.blockcache.min.factor": "0.99"}),
        right=File(site={"hbase.lru.blockcache.min.factor": "0.98"}),
        at="hbase.lru.blockcache.min.factor",
        says="L1 would start to evict at 0.99 and stop at 0.99",
    ),
    Case(
        id="WB228",
        faulty=File(site={"hbase.client.keyvalue.maxsize": "10485761"}),
        right=File(site={"hbase.client.keyvalue.maxsize": "10485760"}),
        at="hbase.client.keyvalue.maxsize",
        says="cells of up to 10,485,761 bytes are accepted, but the largest slot has 532,480 bytes",
    ),
)
