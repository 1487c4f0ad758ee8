"""The script for an initial load sets each table once, and takes back all that it has set."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.configurations.variants import Variant, variant_launch
from warmbase.configurations.launch import Launch
from warmbase.configurations.table_ddl import COMPACTION_ATTEMPTS, initial_load, table_ddl
from warmbase.sizing.modes import HDFS, S3_PLAIN, Mode
from warmbase.sizing.recovery.bad_hours import BLOCKING_FILES, LOAD_SETTINGS

Launches = Callable[[str], Launch]


def test_the_script_sets_every_setting(launches: Launches) -> None:
    launch = launches("prod")
    script = initial_load(launch)
    for setting in launch.plan.bad_hours.initial_load_settings:
        assert f"  '{setting.key}' => '{setting.value}'" in script
    assert "'DURABILITY' => 'SKIP_WAL'" in script
    assert f"'hbase.hstore.blockingStoreFiles' => '{BLOCKING_FILES}'" in script
    assert BLOCKING_FILES == 200
    # A family's own attribute switches prefetch on, whatever the table's configuration says.
    for attribute in ("PREFETCH_BLOCKS_ON_OPEN", "CACHE_DATA_ON_WRITE"):
        assert f"{attribute} => 'true'" in table_ddl(launch)
        assert f"'{attribute}' => 'false'" in script


def test_memstores_are_flushed_before_the_log_is_used_again(launches: Launches) -> None:
    script = initial_load(launches("prod"))
    back = script[script.index("elsif ENV['LOADED']") :]
    assert back.index("flush(") < back.index("compact.call(") < back.index("raise ") < back.index("change.")


def test_a_major_compaction_waits_for_others_and_is_checked(launches: Launches) -> None:
    script = initial_load(launches("prod"))
    compact = script[script.index("compact = lambda") :]
    assert COMPACTION_ATTEMPTS == 5
    steps = (
        "idle.call",
        "currentTimeMillis",
        "5.times do",
        "majorCompactRegion(",
        "idle.call\n    regions = pending.call(",
    )
    assert sorted(steps, key=compact.index) == list(steps)


def test_the_script_stops_where_the_master_has_no_limit(launches: Launches) -> None:
    script = initial_load(launches("prod"))
    assert script.index("raise ") < script.index("modifyTable")


@pytest.mark.parametrize("mode", [S3_PLAIN, HDFS])
def test_nothing_is_cached_without_a_cache(mode: Mode) -> None:
    launch = variant_launch(Variant(mode))
    assert launch.plan.bad_hours.initial_load_settings == LOAD_SETTINGS
    script = initial_load(launch)
    assert "cacheblocksonwrite" not in script
    assert "PREFETCH" not in script
