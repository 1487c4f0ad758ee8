"""The script for an initial load runs on a real HBase, both ways, and gives a table back what it had."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from lab.hbase.bench import Bench
from lab.hbase.cluster import LabServer
from lab.hbase.configuration import FIRST_TIER, Java
from lab.hbase.laboratory import laboratory, small_of
from lab.hbase.software import problems
from lab.hbase.software.jars import SHELL, jar_sets
from lab.hbase.software.setup import jars_directory
from lab.hbase.store import Settings
from lab.scaled_plan import Small
from tests.patience import HANG_SECONDS
from warmbase.configurations.launch import Launch
from warmbase.configurations.table_ddl import BEFORE_KEY, initial_load
from warmbase.ground.units import GIB, MIB

SMALL = Small(memory_bytes=2 * GIB, data_bytes=16 * MIB)
OWN = {"DURABILITY": "ASYNC_WAL", "hbase.hstore.blockingStoreFiles": "33", "SPLIT_ENABLED": "false"}
FAMILIES = {"plain": {}, "cached": {"CACHE_DATA_ON_WRITE": "true"}}

pytestmark = pytest.mark.lab

# Creates the table, runs the script as `hbase shell -n` does, twice each way, and prints the table after each run.
# One of its two regions has two files in each family, and the other one is empty. During the first run of the way back,
# compactions are switched off.
HARNESS = """
require 'java'
require 'json'
own, families, script = JSON.parse(ARGV[0]), JSON.parse(ARGV[1]), ARGV[2]
client = org.apache.hadoop.hbase.client
admin = client.ConnectionFactory.createConnection.getAdmin
table = org.apache.hadoop.hbase.TableName.valueOf('usertable')
builder = client.TableDescriptorBuilder.newBuilder(table)
own.each { |key, value| builder.setValue(key, value) }
families.each do |name, values|
  family = client.ColumnFamilyDescriptorBuilder.newBuilder(name.to_java_bytes)
  values.each { |key, value| family.setValue(key, value) }
  builder.setColumnFamily(family.build)
end
admin.createTable(builder.build, ['m'.to_java_bytes].to_java(Java::byte[]))
# The script's waits are shorter here.
def sleep(_) = Kernel.sleep(2)
printed = lambda do |described|
  described.getValues.to_h { |pair| pair.map { |text| String.from_java_bytes(text.copyBytes) } }
end
state = lambda do
  descriptor = admin.getDescriptor(table)
  members = descriptor.getColumnFamilies.to_h { |family| [family.getNameAsString, printed.call(family)] }
  puts 'state ' + { 'table' => printed.call(descriptor), 'families' => members }.to_json
end
state.call
2.times { load script; state.call }
ENV['LOADED'] = '1'
rows = client.ConnectionFactory.createConnection.getTable(table)
2.times do |row|
  put = client.Put.new("a#{row}".to_java_bytes)
  families.each_key { |name| put.addColumn(name.to_java_bytes, 'q'.to_java_bytes, 'v'.to_java_bytes) }
  rows.put(put)
  admin.flush(table)
end
files = lambda do
  regions = admin.getRegionServers.flat_map { |server| admin.getRegionMetrics(server, table).to_a }
  puts 'files ' + regions.map(&:getStoreFileCount).sort.to_json
end
files.call
admin.compactionSwitch(false, [])
begin
  load script
rescue RuntimeError => error
  puts "stopped: #{error.message}"
end
state.call
admin.compactionSwitch(true, [])
load script
files.call
state.call
load script
state.call
"""


def shell(bench: Bench, scratch: Path, script: str) -> str:
    """Return what the harness prints on a primary node, in the Ruby and with the classes of HBase's shell."""
    (scratch / "load.rb").write_text(script)
    (scratch / "harness.rb").write_text(HARNESS)
    cluster = bench.cluster
    [ruby] = jar_sets()[SHELL]
    classes = (str(jars_directory() / ruby.path), *cluster.software.class_path)
    java = Java(
        software=replace(cluster.software, class_path=classes),
        configuration=cluster.place.configuration("master"),
        scratch=cluster.place.scratch,
        flags=(
            "-Xmx384m",
            *FIRST_TIER,
            f"-Dlog4j2.configurationFile={cluster.place.configuration('client')}/client.log4j2.properties",
        ),
    )
    files = (str(scratch / "harness.rb"), json.dumps(OWN), json.dumps(FAMILIES), str(scratch / "load.rb"))
    process = subprocess.run(
        java.arguments("org.jruby.Main", *files), capture_output=True, text=True, timeout=HANG_SECONDS, check=False
    )
    assert process.returncode == 0, process.stderr[-2000:]
    return process.stdout


def test_a_table_has_its_own_settings_again_after_its_load(launches: Callable[[str], Launch], tmp_path: Path) -> None:
    if reasons := problems():
        pytest.skip(f"{'; '.join(reasons)}: run `warmbase lab setup`")
    launch = launches("prod")
    of = small_of(launch, SMALL, Settings())
    with laboratory(of, tmp_path / "lab", lambda _: None) as bench:
        bench.serve(LabServer(), cold=True)
        printed = shell(bench, tmp_path, initial_load(launch))
    states: list[dict[str, Any]] = [
        json.loads(line.removeprefix("state ")) for line in printed.splitlines() if line.startswith("state ")
    ]
    had, loading, again, stopped, back, twice = states
    assert OWN.items() <= had["table"].items()
    settings = {setting.key: setting.value for setting in launch.plan.bad_hours.initial_load_settings}
    assert settings.items() <= loading["table"].items()
    for family in loading["families"].values():
        assert (family["PREFETCH_BLOCKS_ON_OPEN"], family["CACHE_DATA_ON_WRITE"]) == ("false", "false")
    assert json.loads(loading["table"][BEFORE_KEY])["table"]["DURABILITY"] == "ASYNC_WAL"
    assert again == loading == stopped
    assert "stopped: usertable: after 5 attempts, HBase has not compacted 1 of its regions" in printed
    assert printed.count("usertable: compacted") == 1
    assert [line for line in printed.splitlines() if line.startswith("files ")] == ["files [0,4]", "files [0,2]"]
    assert back == had == twice
    assert "set for a load already" in printed
    assert "not set for a load" in printed
