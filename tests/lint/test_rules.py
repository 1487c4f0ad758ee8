"""Each rule finds its own fault, where it stands, and nothing besides; and what holds for all of them."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from configurations.properties.property import ANY
from emr.classification import ClassificationPath
from emr.cluster_spec import ClusterSpec, Setting
from facts.releases import releases
from lint import rules
from lint.finding import LintFinding, Report, Severity
from lint.lint import GENERAL, lint
from lint.release_of import release_of
from lint.rule import Rule
from lint.rules import RULES, TOPICS
from lint.secret import NOT_SHOWN
from sizing.release import parse_version
from tests.lint.examples import CASES, Case, File
from tests.lint.examples.file import OTHERS, SITE

GAP = "<your value>"
OF = {rule.id: rule for rule in RULES}
EXAMPLE = {case.id: case for case in CASES}
GRAVE = {Severity.ERROR, Severity.WARNING}


@cache
def subject(rule: str, *, right: bool = False) -> ClusterSpec:
    return read(EXAMPLE[rule].right if right else EXAMPLE[rule].wrong)


def read(file: File) -> ClusterSpec:
    with TemporaryDirectory() as folder:
        return file.subject(Path(folder))


def speaks(rule: str, report: Report) -> list[LintFinding]:
    return [found for found in report.findings if found.id == rule]


def ids(report: Report) -> set[str]:
    return {found.id for found in report.findings if found.severity in GRAVE}


each_case = pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)


def test_every_rule_has_an_example() -> None:
    assert [case.id for case in CASES] == [rule.id for rule in RULES]


def test_the_good_cluster_has_no_fault_but_that_of_its_release() -> None:
    assert ids(lint(read(File()))) == {"WB501"}


@each_case
def test_an_example_makes_its_rule_speak_where_the_fault_is(case: Case) -> None:
    blamed = [
        found
        for found in speaks(case.id, lint(subject(case.id)))
        if (found.classification, found.property) == case.place and case.says in found.message
    ]
    assert len(blamed) == 1
    (found,) = blamed
    assert found.severity is OF[case.id].severity
    if found.value is not None:
        assert found.line is not None
        written = case.wrong.text().splitlines()[found.line - 1]
        value = ".*" if found.value == NOT_SHOWN else re.escape(found.value)
        assert re.fullmatch(rf'\s*"{re.escape(found.property)}": "?{value}"?,?', unescaped(written))


def unescaped(line: str) -> str:
    return line.replace('\\"', '"')


@each_case
def test_the_nearest_good_file_is_silent(case: Case) -> None:
    assert not speaks(case.id, lint(subject(case.id, right=True)))


@each_case
def test_an_example_has_one_fault(case: Case) -> None:
    before = ids(lint(subject(case.id, right=True)))
    assert ids(lint(subject(case.id))) - before - {case.id} == set(case.with_it)


@each_case
def test_a_fault_is_found_by_its_own_rule_alone(case: Case) -> None:
    """The tables' own word on a key or a value is what a rule that knows more replaces."""
    others = lint(
        subject(case.id), [rule for rule in RULES if rule.id != case.id and rule.id not in GENERAL - {case.id}]
    )
    where = {(found.classification, found.property) for found in others.of(Severity.ERROR)}
    assert not speaks(case.id, others)
    assert case.place not in where or not case.place[1]


@each_case
def test_a_setting_that_is_to_be_filled_in_has_no_wrong_value(case: Case) -> None:
    """A rule about a value is silent about a gap; what is left is wrong whatever will stand there."""
    whole = subject(case.id)
    before = {found.message for found in lint(whole).findings}
    for key in stated(case.wrong):
        for found in lint(with_values(whole, {key: GAP})).findings:
            if found.severity in GRAVE and found.id not in OF_THE_KEY:
                assert GAP not in (found.value or "") + found.message + found.fix
                assert found.message in before


# Rules about a key that is stated, whatever its value.
OF_THE_KEY = {"WB101", "WB102", "WB103", "WB105", "WB114", "WB223", "WB405", "WB609", "WB611", "WB612", "WB901"}


def stated(file: File) -> list[tuple[ClassificationPath, str]]:
    """Return what a file states beside the good cluster; all that the good cluster states, where it is that."""
    if file == File():
        return [*(("hbase-site", key) for key in SITE), *((path, key) for path, each in OTHERS.items() for key in each)]
    levels = {"hbase-site": file.site, **file.others}
    return [(path, key) for path, each in levels.items() for key, value in (each or {}).items() if value is not None]


def with_values(whole: ClusterSpec, values: dict[tuple[ClassificationPath, str], str]) -> ClusterSpec:
    settings = {
        key: replace(setting, value=values[key]) if key in values else setting
        for key, setting in whole.settings.items()
    }
    return replace(whole, settings=settings)


ALL_STATED = {
    (path, key): Setting(classification=path, key=key, value=value, line=1)
    for case in CASES
    for path, properties in {"hbase-site": {**SITE, **case.wrong.site}, **OTHERS, **case.wrong.others}.items()
    for key, value in (properties or {}).items()
    if value is not None
}
NONSENSE = st.one_of(
    st.sampled_from([GAP, "", "0", "-1", "1", "1e999", "-1e999", "1e30", "0x10", "nan", "1,0", ",", "0,256", "-5,-5"]),
    st.from_regex(r"-?[0-9]{1,30}(\.[0-9]{1,5})?", fullmatch=True),
    st.text(max_size=20),
)


@given(
    values=st.dictionaries(st.sampled_from(sorted(ALL_STATED)), NONSENSE, max_size=8),
    left_out=st.sets(st.sampled_from(sorted(ALL_STATED)), max_size=8),
    release=st.sampled_from([None, "emr-6.15.0", "emr-7.3.0", "emr-7.12.0", "emr-7.14.0", "emr-9.0.0", "7.12"]),
)
def test_no_value_stops_lint(
    values: dict[tuple[ClassificationPath, str], str],
    left_out: set[tuple[ClassificationPath, str]],
    release: str | None,
) -> None:
    kept = {key: setting for key, setting in ALL_STATED.items() if key not in left_out}
    whole = replace(read_once(), settings=kept, release_label=release)
    assert all(found.message and found.because and found.fix for found in lint(with_values(whole, values)).findings)


@cache
def read_once() -> ClusterSpec:
    return read(File())


# What rules say of themselves.


def test_every_module_of_rules_is_collected() -> None:
    files = {path.stem for path in Path(rules.__file__ or "").parent.glob("*.py")}
    assert {module.__name__.rpartition(".")[2] for module in rules.MODULES} == files - {"__init__", "volumes"}


def test_ids_are_unique_and_each_topic_has_one_family() -> None:
    numbers = [rule.id for rule in RULES]
    assert numbers == sorted(set(numbers))
    assert all(re.fullmatch(r"WB[1-9]\d\d", number) for number in numbers)
    for topic in TOPICS.values():
        assert len({rule.id[:3] for rule in topic}) == 1


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_a_rule_says_what_why_how_and_whence(rule: Rule) -> None:
    said = (rule.title, rule.because, rule.fix, rule.source, rule.proof)
    assert all(text and text == text.strip() and not text.endswith(".") for text in said)
    assert len({*said}) == len(said)
    assert rule.roles
    assert set(rule.roles) <= {"primary", "core"}


@each_case
def test_findings_are_sentences_without_a_stop(case: Case) -> None:
    for found in speaks(case.id, lint(subject(case.id))):
        for text in (found.message, found.because, found.fix):
            assert text
            assert not text.endswith((".", " ", ","))
            assert "None" not in text


# Versions.

LABELS = ("emr-7.2.0", "emr-7.3.0", "emr-7.4.0", "emr-7.5.0", *releases())
OLD_HBASE = (2, 4, 17)
SPANNED = [case for case in CASES if not OF[case.id].hbase == OF[case.id].emr == ANY]


@pytest.mark.parametrize("label", LABELS)
@pytest.mark.parametrize("case", SPANNED, ids=lambda case: case.id)
def test_a_rule_about_some_versions_speaks_of_those_alone(case: Case, label: str) -> None:
    rule, known = OF[case.id], releases().get(label)
    emr = parse_version(label.removeprefix("emr-"))
    concerned = rule.emr.holds(emr) and rule.hbase.holds(known.hbase if known else OLD_HBASE)
    assert bool(speaks(case.id, lint(read(replace(case.wrong, release=label))))) == concerned


@pytest.mark.parametrize("case", SPANNED, ids=lambda case: case.id)
def test_a_rule_about_some_versions_is_silent_where_none_is_said(case: Case) -> None:
    assert not speaks(case.id, lint(read(replace(case.wrong, release=None))))


BOUNDARIES = [
    ("WB301", "emr-7.5.0", "emr-7.6.0"),
    ("WB402", "emr-7.9.0", "emr-7.10.0"),
    ("WB605", "emr-7.10.0", "emr-7.9.0"),
    ("WB605", "emr-7.13.0", "emr-7.14.0"),
    ("WB608", "emr-7.4.0", "emr-7.3.0"),
    ("WB508", "emr-7.12.0", "emr-7.13.0"),  # HBase 2.6.2 has the bug, 2.6.4 has not
    ("WB504", "emr-7.12.0", "emr-7.13.0"),
    ("WB314", "emr-7.6.0", "emr-7.5.0"),
    ("WB501", "emr-7.14.0", "emr-7.5.0"),
]


@pytest.mark.parametrize(("rule", "inside", "outside"), BOUNDARIES)
def test_a_rule_ends_at_its_boundary(rule: str, inside: str, outside: str) -> None:
    wrong = EXAMPLE[rule].wrong
    assert speaks(rule, lint(read(replace(wrong, release=inside))))
    assert not speaks(rule, lint(read(replace(wrong, release=outside))))


def test_a_newer_release_is_taken_for_the_newest_that_is_known() -> None:
    report = lint(read(File(release="emr-7.99.0")))
    assert "emr-7.99.0 is not in the table of releases; lint treats it as emr-7.14.0" in {
        found.message for found in report.findings
    }
    assert ids(report) == {"WB501"}


# A label, and what is told of it.
TOLD = [
    ("7.12.0", "'7.12.0' is not a release label", "write emr-7.12.0"),
    ("emr-7.12", "'emr-7.12' is not a release label", "write emr-7.12.0"),
    ("latest", "'latest' is not a release label", "write emr-7.12.0"),
    ("emr-7.5.0", "emr-7.5.0 ships an HBase before 2.6: lint did not check its keys", "use emr-7.6.0 or later"),
    ("emr-5.36.2", "emr-5.36.2 ships an HBase before 2: lint checked only what holds", "use emr-7.6.0 or later"),
    ("emr-7.12.1", "emr-7.12.1 is not in the table of releases; lint treats it as emr-7.12.0", "pass --release"),
    ("emr-8.0.0", "emr-8.0.0 is not in the table of releases; lint treats it as emr-7.14.0", "pass --release"),
]


@pytest.mark.parametrize(("label", "says", "fix"), TOLD)
def test_a_label_that_is_not_known_is_told(label: str, says: str, fix: str) -> None:
    (told,) = speaks("WB110", lint(read(File(release=label))))
    assert says in told.message
    assert told.fix.startswith(fix)


VERSIONS = [
    ("emr-4.7.3", (1, 4, 13)),
    ("emr-5.36.2", (1, 4, 13)),
    ("emr-6.15.0", (2, 4, 17)),
    ("emr-7.3.0", (2, 4, 17)),
    ("emr-7.4.0", (2, 5, 5)),
    ("emr-7.5.0", (2, 5, 10)),
    ("emr-7.6.0", (2, 6, 1)),
]


@pytest.mark.parametrize(("label", "hbase"), VERSIONS)
def test_a_release_has_the_hbase_of_its_time(label: str, hbase: tuple[int, int, int]) -> None:
    known = release_of(label).release
    assert known is not None
    assert known.hbase == hbase


@each_case
def test_of_hbase_1_only_what_holds_for_it_is_told(case: Case) -> None:
    """Of the good cluster's own settings too, most of which HBase 1 does not know."""
    for found in lint(read(replace(case.wrong, release="emr-5.36.2"))).findings:
        assert OF[found.id].of_hbase_1


STILL_TOLD = ("WB301", "WB901", "WB701", "WB601", "WB602", "WB610", "WB403", "WB406", "WB112", "WB101")


@pytest.mark.parametrize("rule", STILL_TOLD)
def test_what_holds_for_any_hbase_is_told_of_hbase_1(rule: str) -> None:
    assert speaks(rule, lint(read(replace(EXAMPLE[rule].wrong, release="emr-5.36.2"))))


@each_case
def test_without_hbase_only_what_holds_for_any_cluster_is_told(case: Case) -> None:
    for found in lint(without_hbase(subject(case.id))).findings:
        assert not OF[found.id].of_hbase


def without_hbase(whole: ClusterSpec) -> ClusterSpec:
    """Return the same cluster for Spark: no application and no classification of HBase."""
    kept = {name: line for name, line in whole.classifications.items() if not name.lower().startswith("hbase")}
    settings = {key: setting for key, setting in whole.settings.items() if key[0] in kept}
    return replace(whole, applications=("Spark",), classifications=kept, settings=settings)


ANYWHERE = ("WB102", "WB112", "WB113", "WB115", "WB601", "WB611", "WB612", "WB702", "WB705", "WB708", "WB709", "WB901")


@pytest.mark.parametrize("rule", ANYWHERE)
def test_what_holds_for_any_cluster_is_told_without_hbase(rule: str) -> None:
    hadoop = File(others={"hdfs-site": {"dfs.support.append": "true"}})
    quoteless = File(again=({"Classification": "hdfs-site", "Properties": {"dfs.blocksize": 1048576}},))
    instead = {"WB102": hadoop, "WB115": quoteless}
    assert speaks(rule, lint(without_hbase(read(instead.get(rule, EXAMPLE[rule].wrong)))))


@pytest.mark.parametrize("name", ["HBase", "hbase"])
def test_a_cache_without_the_application_is_told(name: str) -> None:
    assert not speaks("WB710", lint(read(File(applications=(name,)))))
    assert speaks("WB710", lint(read(File(applications=("Spark",)))))


SECRET = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"


@pytest.mark.parametrize(
    "file",
    [
        File(others={"core-site": {"fs.s3a.secret.key": SECRET}}),
        File(site={"fs.s3a.acess.key": SECRET}),
        File(others={"hbase-env/export": {"HBASE_REGIONSERVER_OPTS": f"-Xmx9g -Dfs.s3a.secret.key={SECRET}"}}),
    ],
    ids=["a property", "a slip", "an option"],
)
def test_no_credential_is_printed(file: File) -> None:
    """What lint says is kept in logs."""
    report = lint(read(file))
    assert speaks("WB901", report)
    assert SECRET not in str(report)
