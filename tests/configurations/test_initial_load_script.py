"""The script for an initial load sets each table once, and takes back all that it has set."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from configurations.launch import Launch
from configurations.table_ddl import initial_load, table_ddl
from sizing.initial_load import BLOCKING_FILES, LOAD_SETTINGS
from sizing.modes import HDFS, S3_PLAIN, Mode
from tests.configurations.variants import Variant, variant_launch

Launches = Callable[[str], Launch]


def halves(script: str) -> tuple[str, str]:
    """Return the commands of the way back and those before the load."""
    body = script[script.index("if ENV['LOADED']") :]
    back, _, before = body.partition("\nelse\n")
    return back, before


def test_the_way_back_covers_every_setting(launches: Launches) -> None:
    launch = launches("prod")
    back, before = halves(initial_load(launch))
    for setting in launch.plan.bad_hours.initial_load_settings:
        assert re.search(rf"'?{re.escape(setting.key)}'? => '{setting.value}'", before), setting.key
        if setting.usual is None:
            assert f"'{setting.key}'" in back[back.index("table_conf_unset") :]
        else:
            assert f"{setting.key} => '{setting.usual}'" in back
    # A family's own attribute switches prefetch on, whatever the table's configuration says.
    for attribute in ("PREFETCH_BLOCKS_ON_OPEN", "CACHE_DATA_ON_WRITE"):
        assert f"{attribute} => 'true'" in table_ddl(launch)
        assert f"{attribute} => 'false'" in before
        assert f"{attribute} => 'true'" in back


def test_memstores_are_flushed_before_the_log_is_used_again(launches: Launches) -> None:
    back, before = halves(initial_load(launches("prod")))
    assert "DURABILITY => 'SKIP_WAL'" in before
    assert (
        back.index("flush '") < back.index("major_compact '") < back.index("getCompactionState") < back.index("alter '")
    )
    assert f"'hbase.hstore.blockingStoreFiles' => '{BLOCKING_FILES}'" in before
    assert BLOCKING_FILES == 200
    assert back.count("\n  alter '") == before.count("  alter '") == 1


def test_the_script_stops_where_the_master_has_no_limit(launches: Launches) -> None:
    script = initial_load(launches("prod"))
    assert script.index("raise ") < script.index("alter '")


@pytest.mark.parametrize("mode", [S3_PLAIN, HDFS])
def test_nothing_is_cached_without_a_cache(mode: Mode) -> None:
    launch = variant_launch(Variant(mode))
    assert launch.plan.bad_hours.initial_load_settings == LOAD_SETTINGS
    script = initial_load(launch)
    assert "cacheblocksonwrite" not in script
    assert "PREFETCH" not in script
