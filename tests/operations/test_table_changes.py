"""Changes of tables: one region is checked first, then the rest follows; if it fails, the table is rolled back."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest
from msgspec import field
from msgspec.structs import replace

from tests.configurations.test_table_ddl import family as inspected_family
from tests.configurations.test_table_ddl import inspected
from tests.operations.deployed import Cut
from tests.operations.killable import HBaseModel, Killed
from warmbase.configurations.launch import Launch
from warmbase.configurations.table_ddl import UNCACHED_FLAGS
from warmbase.ground.errors import OperationFailed, Refused
from warmbase.operations.aws.progress import Say, carry_out
from warmbase.operations.cluster.hbase_control import CacheReads, Families, HBaseState, LiveTables, Patience, Region
from warmbase.operations.cluster.journals import TableChange
from warmbase.operations.hbase.tables import TableChanges, TableProposal, table_changes, table_proposal

QUICK = Patience(before=60, opened=0.2, warm=0.05, poll=0.002)
OLD = {
    "BLOCKSIZE": "65536",
    "BLOOMFILTER": "NONE",
    "BLOCKCACHE": "true",
    "DATA_BLOCK_ENCODING": "NONE",
    "COMPRESSION": "NONE",
    "PREFETCH_BLOCKS_ON_OPEN": "false",
    "CACHE_DATA_ON_WRITE": "true",
    "EVICT_BLOCKS_ON_CLOSE": "false",
}
TABLES = ("orders", "users")


class Model(HBaseModel, dict=True):
    """Two tables with three regions on three servers. A region has the attributes that its table had when it opened."""

    tables: dict[str, dict[str, dict[str, str]]] = field(
        default_factory=lambda: {table: {"cf": dict(OLD)} for table in TABLES}
    )
    opened: dict[str, dict[str, dict[str, str]]] = field(default_factory=dict)
    closed: str | None = None
    unsettled: str = ""
    """The event after which a region is in transition."""
    strays: str = ""
    """The event after which the first region is on another server."""
    most_regions: int = 3
    loading: tuple[str, ...] = ()
    broken: Callable[[Mapping[str, str]], bool] = lambda _: False
    cold_after: str | None = None
    refused: str = ""
    """The attribute that the master refuses to change."""
    events: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Open every region."""
        for table in TABLES:
            for number in range(3):
                self.open(f"{table}-{number}")

    def open(self, region: str) -> None:
        table = region.partition("-")[0]
        self.opened[region] = {name: dict(attributes) for name, attributes in self.tables[table].items()}

    def state(self, say: Say) -> HBaseState:
        del say
        with self.call():
            return HBaseState(
                servers=dict.fromkeys(("a:1", "b:1", "c:1"), 1),
                regions={
                    name: Region(
                        table=name.partition("-")[0],
                        server=None if name == self.closed else self.server(name),
                    )
                    for name in self.opened
                },
                in_transition=int(self.unsettled in self.events),
                balancer_is_on=True,
            )

    def server(self, region: str) -> str:
        strays = region == "orders-0" and self.strays in self.events
        return "b:1" if strays else f"{'abc'[int(region[-1])]}:1"

    def live_tables(self, say: Say) -> LiveTables:
        del say
        return LiveTables(most_regions=self.most_regions, tables=self.tables, loading=self.loading)

    def change_table(self, table: str, families: Families, say: Say) -> None:
        del say
        with self.call():
            if any(
                attributes.get(self.refused, OLD.get(self.refused)) != OLD.get(self.refused)
                for attributes in families.values()
            ):
                raise OperationFailed.of(where="change-tables", what="ended FAILED", why="no codec", fix="again")
            self.events.append(f"change {table}")
            for name, attributes in families.items():
                self.tables[table][name].update(attributes)

    def reopen_region(self, region: str, say: Say) -> None:
        del say
        with self.call():
            self.events.append(f"reopen {region}")
            if region == self.closed:
                self.closed = None
            self.open(region)
            if self.broken(self.opened[region]["cf"]):
                raise OperationFailed.of(where=region, what="is not open", why="its codec is missing", fix="install it")

    def reopen(self, tables: Sequence[str], say: Say) -> None:
        del say
        with self.call():
            self.events += [f"reopen all of {table}" for table in tables]
            for region in self.opened:
                if region.partition("-")[0] in tables:
                    self.open(region)

    def cache_reads(self, since: float) -> Mapping[str, CacheReads]:
        del since
        with self.call():
            hits = 20 if self.cold_after in self.events else 99
            return {server: CacheReads(hits=hits, misses=1) for server in ("a:1", "b:1", "c:1")}


def proposal(model: Model, launch: Launch, *names: str) -> TableProposal:
    return table_proposal(TableChanges(hbase=model, journal=model.journals.table, patience=QUICK), launch, names, print)


def run(model: Model, launch: Launch) -> Cut:
    """Change all tables as a new command would, and return what it says."""
    tables, progress = TableChanges(hbase=model, journal=model.journals.table, patience=QUICK), Cut()
    carry_out(tables.stages(proposal(model, launch).changes), progress)
    return progress


@pytest.fixture
def prod(launches: Callable[[str], Launch]) -> Launch:
    return launches("prod")


def is_planned(model: Model, launch: Launch) -> bool:
    """Return whether every region was opened with the attributes of the plan, and nothing is left to do."""
    return not proposal(model, launch).changes and all(
        attributes == model.tables[name.partition("-")[0]] for name, attributes in model.opened.items()
    )


def test_a_proposal_has_only_the_attributes_that_differ(prod: Launch) -> None:
    first, second = proposal(Model(), prod).changes
    assert (first.table, second.table) == TABLES
    assert first.before["cf"] == {name: OLD[name] for name in first.wanted["cf"]}
    assert first.wanted["cf"]["PREFETCH_BLOCKS_ON_OPEN"] == "true"
    assert "EVICT_BLOCKS_ON_CLOSE" not in first.wanted["cf"]
    assert [change.table for change in proposal(Model(), prod, "users").changes] == ["users"]


def test_the_tables_of_phoenix_keep_their_attributes(prod: Launch) -> None:
    model = Model()
    model.tables |= {name: {"0": dict(OLD)} for name in ("SYSTEM.CATALOG", "SYSTEM:STATS")}
    assert [change.table for change in proposal(model, prod).changes] == list(TABLES)


def test_another_table_is_changed_during_an_initial_load(prod: Launch) -> None:
    model = Model(loading=("users",))
    assert [change.table for change in proposal(model, prod, "orders").changes] == ["orders"]


def test_one_region_is_reopened_before_all_of_its_table(prod: Launch) -> None:
    model = Model()
    said = run(model, prod).said
    assert model.events == [
        event for table in TABLES for event in (f"change {table}", f"reopen {table}-0", f"reopen all of {table}")
    ]
    assert is_planned(model, prod)
    assert said[0] == "orders-0 answers on a:1; lowest hit ratio 99 %"


def test_a_region_that_does_not_open_gives_the_table_its_old_attributes_back(prod: Launch) -> None:
    model = Model(broken=lambda attributes: attributes["PREFETCH_BLOCKS_ON_OPEN"] == "true")
    with pytest.raises(OperationFailed, match=r"orders  has its old attributes again.*\n  orders-0 is not open"):
        run(model, prod)
    assert model.tables == {table: {"cf": OLD} for table in TABLES}
    assert model.opened["orders-0"] == {"cf": OLD}
    assert model.journal is None
    assert "reopen all of orders" not in model.events


def test_a_server_that_reads_less_from_its_cache_gives_the_table_its_old_attributes_back(prod: Launch) -> None:
    model = Model(cold_after="reopen orders-0")
    with pytest.raises(OperationFailed, match=r"a:1 hits 95.2 % of its reads; before the change, .* 99 %"):
        run(model, prod)
    assert model.tables["orders"] == {"cf": OLD}


@pytest.mark.parametrize(
    ("fault", "match"),
    [
        ({"unsettled": "reopen orders-0"}, "orders-0 is on a:1, and 1 regions are in transition"),
        ({"strays": "reopen orders-0"}, "orders-0 is on b:1, and 0 regions are in transition"),
    ],
)
def test_a_region_that_does_not_stay_where_its_blocks_are_gives_the_table_its_old_attributes_back(
    prod: Launch, fault: dict[str, Any], match: str
) -> None:
    model = Model(**fault)
    with pytest.raises(OperationFailed, match=rf"orders  has its old attributes again.*\n.*{match}"):
        run(model, prod)
    assert model.tables["orders"] == {"cf": OLD}
    assert model.journal is None


def test_a_table_with_regions_in_transition_is_not_finished(prod: Launch) -> None:
    model = Model(unsettled="reopen all of orders")
    with pytest.raises(OperationFailed, match="orders  has regions that are not open"):
        run(model, prod)
    assert not model.journal.passed, "the next command undoes the change"
    model.unsettled = ""
    run(model, prod)
    assert is_planned(model, prod)


@pytest.mark.parametrize(("stages", "table"), [(0, "orders"), (1, "orders"), (2, "users"), (3, "users")])
def test_nothing_is_reopened_while_a_region_is_not_open(prod: Launch, stages: int, table: str) -> None:
    model = Model()
    tables = TableChanges(hbase=model, journal=model.journals.table, patience=QUICK)
    all_stages = [*tables.stages(proposal(model, prod).changes)]
    carry_out(all_stages[:stages], Cut())
    events, model.closed = list(model.events), f"{table}-2"
    with pytest.raises(Refused, match="is not quiet: 1 regions of enabled tables are not open"):
        carry_out(all_stages[stages:], Cut())
    assert model.events == events


def test_caches_that_publish_late_and_fill_slowly_are_awaited() -> None:
    """Each look has the reads since the last one: a cold minute does not count against the warm one after it."""
    model = Model()
    published: list[Mapping[str, float]] = [{}, {"a:1": 0.99}, {"a:1": 0.99, "b:1": 0.5}, {"a:1": 0.99, "b:1": 0.99}]
    begun: list[float] = []

    def cache_reads(since: float) -> Mapping[str, CacheReads]:
        begun.append(since)
        ratios = published[min(len(begun), len(published)) - 1]
        return {server: CacheReads(hits=100 * ratio, misses=100 * (1 - ratio)) for server, ratio in ratios.items()}

    model.cache_reads = cache_reads  # type: ignore[method-assign]
    tables = TableChanges(hbase=model, journal=model.journals.table, patience=QUICK)
    assert tables._warm({"a:1": 0.99, "b:1": 0.99, "c:1": None}, print) == "lowest hit ratio 99 %"
    assert begun[0] == begun[1] == begun[2] < begun[3]


def test_wherever_it_is_killed_the_same_command_finishes(prod: Launch) -> None:
    run(whole := Model(), prod)
    for place in range(3, whole.calls + 1):
        for before in (True, False):
            model = Model(kill_at=place, kill_before=before)
            with pytest.raises(Killed):
                run(model, prod)
            run(model, prod)
            assert is_planned(model, prod), place
            assert model.journal is None, place


@pytest.mark.parametrize("region", ["orders-0", "orders-1"])
def test_a_region_that_an_interrupted_command_has_closed_is_opened(prod: Launch, region: str) -> None:
    model = Model()
    model.interrupt(proposal(model, prod).changes[0])
    model.closed = region
    run(model, prod)
    assert is_planned(model, prod)
    assert model.closed is None


def test_a_closed_region_that_the_new_attributes_keep_from_opening_gets_the_old_ones(prod: Launch) -> None:
    model = Model(broken=lambda attributes: attributes["PREFETCH_BLOCKS_ON_OPEN"] == "true")
    change = proposal(model, prod).changes[0]
    model.interrupt(change)
    model.tables["orders"]["cf"] |= change.wanted["cf"]
    model.closed = "orders-0"
    with pytest.raises(OperationFailed, match="orders  has its old attributes again"):
        run(model, prod)
    assert model.events[:2] == ["change orders", "reopen orders-0"]
    assert model.tables["orders"] == {"cf": OLD}
    assert model.opened["orders-0"] == {"cf": OLD}
    assert model.journal is None


def test_a_way_back_that_fails_gives_both_reasons_and_keeps_the_journal(prod: Launch) -> None:
    model = Model(broken=lambda _: True)
    with pytest.raises(OperationFailed, match=r"orders  may have its new attributes still, and orders-0 may be closed"):
        run(model, prod)
    assert model.journal is not None
    assert not model.journal.passed
    model.broken = lambda _: False
    run(model, prod)
    assert is_planned(model, prod)


def test_caches_that_stay_cold_after_the_change_end_the_command_and_the_next_one_goes_on(prod: Launch) -> None:
    """The change itself is finished, and whether the next table is changed with these caches, the operator decides."""
    model = Model(cold_after="reopen all of orders")
    with pytest.raises(OperationFailed, match=r"a:1 +hits 95.2 % of its reads; before the change, .* 99 %"):
        run(model, prod)
    assert model.journal is None
    run(model, prod)
    assert model.events.count("reopen all of orders") == 1
    assert is_planned(model, prod)


def test_a_command_that_waits_for_warm_caches_again_reopens_nothing(prod: Launch) -> None:
    model = Model()
    change = proposal(model, prod).changes[0]
    model.change_table(change.table, change.wanted, print)
    model.reopen([change.table], print)
    model.interrupt(replace(change, hit_ratios={"a:1": 0.99}, passed=True, reopened=True))
    run(model, prod)
    assert model.events.count("reopen all of orders") == 1
    assert is_planned(model, prod)


def test_a_change_that_hbase_refuses_leaves_no_journal_and_the_next_plan_is_tried(prod: Launch) -> None:
    model = Model(refused="PREFETCH_BLOCKS_ON_OPEN")
    with pytest.raises(OperationFailed, match=r"(?s)orders  has its old attributes again, because HBase refused"):
        run(model, prod)
    assert model.journal is None
    assert model.events == ["change orders"], "only back"
    model.refused = ""
    run(model, prod)
    assert is_planned(model, prod)


@pytest.mark.parametrize("passed", [False, True])
def test_an_interrupted_change_is_undone_or_finished_although_the_plan_is_another_now(
    prod: Launch,
    passed: bool,  # noqa: FBT001
) -> None:
    """The wanted attributes of the journal are not those of the plan: they are never tried again."""
    model = Model(tables={table: {"cf": dict(OLD)} for table in TABLES})
    run(model, prod)
    change = TableChange(
        table="orders",
        before={"cf": {"BLOCKSIZE": model.tables["orders"]["cf"]["BLOCKSIZE"]}},
        wanted={"cf": {"BLOCKSIZE": "7"}},
        passed=passed,
    )
    model.interrupt(change)
    model.tables["orders"]["cf"]["BLOCKSIZE"] = "7"
    model.reopen_region("orders-0", print)
    model.events.clear()
    found = proposal(model, prod)
    assert found.interrupted == change
    assert [change.table for change in found.changes] == (["orders"] if passed else [])
    run(model, prod)
    assert is_planned(model, prod)
    assert model.journal is None
    assert model.events[:2] == (
        ["reopen all of orders", "change orders"] if passed else ["change orders", "reopen all of orders"]
    )


def test_a_table_that_was_dropped_amid_its_change_is_named(prod: Launch) -> None:
    model = Model()
    model.interrupt(proposal(model, prod).changes[0])
    del model.tables["orders"]
    with pytest.raises(Refused, match="orders  is not an enabled table, and a change of it was interrupted"):
        proposal(model, prod, "users")


@pytest.mark.parametrize(
    ("change", "name", "match"),
    [
        ({"closed": "users-1"}, None, "1 regions of enabled tables are not open"),
        ({"most_regions": 2**31 - 1}, None, "would reopen up to 2,147,483,647 regions of a table at once"),
        ({"most_regions": -1}, None, "would reopen all regions of a table at once"),
        ({}, "order", "order  is not an enabled table of the cluster"),
        ({"loading": ("users",)}, None, "has the settings of an initial load"),
    ],
)
def test_a_change_that_would_harm_is_refused(
    change: dict[str, Any], name: str | None, match: str, prod: Launch
) -> None:
    with pytest.raises(Refused, match=match):
        proposal(Model(**change), prod, *([name] if name else []))


def test_an_inspection_names_the_tables_and_families(prod: Launch) -> None:
    launch = inspected(prod, inspected_family("orders", "cf"), inspected_family("gone", "cf"))
    assert [change.table for change in proposal(Model(), launch).changes] == ["orders"]


def test_a_table_as_planned_is_left_out() -> None:
    live = LiveTables(most_regions=1, tables={"orders": {"cf": OLD}})
    assert table_changes(live, {"orders": {"cf": OLD}}) == []
    [change] = table_changes(live, {"orders": {"cf": OLD | {"BLOCKSIZE": "8192"}}})
    assert change == TableChange(
        table="orders", before={"cf": {"BLOCKSIZE": "65536"}}, wanted={"cf": {"BLOCKSIZE": "8192"}}
    )
    assert replace(change, passed=True) != change


def test_the_configuration_of_a_family_is_set_and_removed() -> None:
    key, live = UNCACHED_FLAGS[0], LiveTables(most_regions=1, tables={"orders": {"cf": OLD}})
    assert table_changes(live, {"orders": {"cf": {**OLD, key: ""}}}) == []
    [change] = table_changes(live, {"orders": {"cf": {**OLD, key: "false"}}})
    assert change == TableChange(table="orders", before={"cf": {key: ""}}, wanted={"cf": {key: "false"}})
    changed = replace(live, tables={"orders": {"cf": {**OLD, key: "false"}}})
    [back] = table_changes(changed, {"orders": {"cf": {**OLD, key: ""}}})
    assert back == TableChange(table="orders", before={"cf": {key: "false"}}, wanted={"cf": {key: ""}})
