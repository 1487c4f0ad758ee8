"""Each rule reports its own fault where it is, and nothing else; and laws that hold for all rules."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.lint.examples import CASES, Case, File
from tests.lint.examples.file import OTHERS, SITE
from warmbase.configurations.properties.property import ANY
from warmbase.emr.cluster_spec import ClassificationPath, ClusterSpec, Setting
from warmbase.facts.releases import release_of, releases
from warmbase.ground.release import parse_version
from warmbase.ground.secret import REDACTED
from warmbase.linter import rules
from warmbase.linter.finding import LintFinding, Report, Severity
from warmbase.linter.lint import GENERAL, lint
from warmbase.linter.rule import Rule
from warmbase.linter.rules import RULES, TOPICS

GAP = "<your value>"
OF = {rule.id: rule for rule in RULES}
EXAMPLE = {case.id: case for case in CASES}
GRAVE = {Severity.ERROR, Severity.WARNING}


@cache
def subject(rule: str, *, right: bool = False) -> ClusterSpec:
    return read(EXAMPLE[rule].right if right else EXAMPLE[rule].faulty)


def read(file: File) -> ClusterSpec:
    with TemporaryDirectory() as folder:
        return file.subject(Path(folder))


def speaks(rule: str, report: Report) -> list[LintFinding]:
    return [finding for finding in report.findings if finding.id == rule]


def ids(report: Report) -> set[str]:
    return {finding.id for finding in report.findings if finding.severity in GRAVE}


on_every_case = pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)


def test_every_rule_has_an_example() -> None:
    assert [case.id for case in CASES] == [rule.id for rule in RULES]


def test_the_good_cluster_has_no_fault_but_that_of_its_release() -> None:
    assert ids(lint(read(File()))) == {"WB501"}


@on_every_case
def test_an_example_makes_its_rule_speak_where_the_fault_is(case: Case) -> None:
    blamed = [
        finding
        for finding in speaks(case.id, lint(subject(case.id)))
        if (finding.classification, finding.property) == case.place and case.says in finding.message
    ]
    assert len(blamed) == 1
    (finding,) = blamed
    assert finding.severity is OF[case.id].severity
    if finding.value is not None:
        assert finding.line is not None
        written = case.faulty.text().splitlines()[finding.line - 1]
        value = ".*" if finding.value == REDACTED else re.escape(finding.value)
        assert re.fullmatch(rf'\s*"{re.escape(finding.property)}": "?{value}"?,?', unescaped(written))


def unescaped(line: str) -> str:
    return line.replace('\\"', '"')


@on_every_case
def test_the_nearest_good_file_is_silent(case: Case) -> None:
    assert not speaks(case.id, lint(subject(case.id, right=True)))


@on_every_case
def test_an_example_has_one_fault(case: Case) -> None:
    before = ids(lint(subject(case.id, right=True)))
    assert ids(lint(subject(case.id))) - before - {case.id} == set(case.with_it)


@on_every_case
def test_only_its_own_rule_reports_a_fault(case: Case) -> None:
    """A specific rule replaces the general findings about a key or a value."""
    others = lint(
        subject(case.id), [rule for rule in RULES if rule.id != case.id and rule.id not in GENERAL - {case.id}]
    )
    where = {(finding.classification, finding.property) for finding in others.of(Severity.ERROR)}
    assert not speaks(case.id, others)
    assert case.place not in where or not case.place[1]


@on_every_case
def test_a_placeholder_has_no_faulty_value(case: Case) -> None:
    """A rule about a value is silent about a placeholder; the remaining findings hold whatever the value will be."""
    whole = subject(case.id)
    before = {finding.message for finding in lint(whole).findings}
    for key in added_keys(case.faulty):
        for finding in lint(with_values(whole, {key: GAP})).findings:
            if finding.severity in GRAVE and finding.id not in OF_THE_KEY:
                assert GAP not in (finding.value or "") + finding.message + finding.fix
                assert finding.message in before


# Rules about the presence of a key, whatever its value.
OF_THE_KEY = {
    "WB101",
    "WB102",
    "WB103",
    "WB105",
    "WB114",
    "WB223",
    "WB405",
    "WB423",
    "WB609",
    "WB611",
    "WB612",
    "WB901",
}


def added_keys(file: File) -> list[tuple[ClassificationPath, str]]:
    """Return the settings that a file adds to the good cluster; for the good cluster itself, all of its settings."""
    levels = {"hbase-site": SITE, **OTHERS} if file == File() else {"hbase-site": file.site, **file.others}
    return [
        (path, key)
        for path, properties in levels.items()
        for key, value in (properties or {}).items()
        if value is not None
    ]


def with_values(whole: ClusterSpec, values: dict[tuple[ClassificationPath, str], str]) -> ClusterSpec:
    settings = {
        key: replace(setting, value=values[key]) if key in values else setting
        for key, setting in whole.settings.items()
    }
    return replace(whole, settings=settings)


SETTINGS = {
    (path, key): Setting(classification=path, key=key, value=value, line=1)
    for case in CASES
    for path, properties in {"hbase-site": {**SITE, **case.faulty.site}, **OTHERS, **case.faulty.others}.items()
    for key, value in (properties or {}).items()
    if value is not None
}
NONSENSE = st.one_of(
    st.sampled_from([GAP, "", "0", "-1", "1", "1e999", "-1e999", "1e30", "0x10", "nan", "1,0", ",", "0,256", "-5,-5"]),
    st.from_regex(r"-?[0-9]{1,30}(\.[0-9]{1,5})?", fullmatch=True),
    st.text(max_size=20),
)


@given(
    values=st.dictionaries(st.sampled_from(sorted(SETTINGS)), NONSENSE, max_size=8),
    omitted=st.sets(st.sampled_from(sorted(SETTINGS)), max_size=8),
    release=st.sampled_from([None, "emr-6.15.0", "emr-7.3.0", "emr-7.12.0", "emr-7.14.0", "emr-9.0.0", "7.12"]),
)
def test_no_value_stops_lint(
    values: dict[tuple[ClassificationPath, str], str], omitted: set[tuple[ClassificationPath, str]], release: str | None
) -> None:
    settings = {key: setting for key, setting in SETTINGS.items() if key not in omitted}
    whole = replace(read_once(), settings=settings, release_label=release)
    assert all(
        finding.message and finding.because and finding.fix for finding in lint(with_values(whole, values)).findings
    )


@cache
def read_once() -> ClusterSpec:
    return read(File())


# The texts of the rules.


def test_every_module_of_rules_is_collected() -> None:
    files = {path.stem for path in Path(rules.__file__ or "").parent.glob("*.py")}
    assert {module.__name__.rpartition(".")[2] for module in rules.MODULES} == files - {"__init__", "volumes"}


def test_ids_are_unique_and_a_topic_has_one_family() -> None:
    numbers = [rule.id for rule in RULES]
    assert numbers == sorted(set(numbers))
    assert all(re.fullmatch(r"WB[1-9]\d\d", number) for number in numbers)
    for topic in TOPICS.values():
        assert len({rule.id[:3] for rule in topic}) == 1


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_a_rule_says_what_why_how_and_whence(rule: Rule) -> None:
    texts = (rule.title, rule.because, rule.fix, rule.source, rule.proof)
    assert all(text and text == text.strip() and not text.endswith(".") for text in texts)
    assert len({*texts}) == len(texts)
    assert rule.roles
    assert set(rule.roles) <= {"primary", "core"}


@on_every_case
def test_findings_are_sentences_without_a_stop(case: Case) -> None:
    for finding in speaks(case.id, lint(subject(case.id))):
        for text in (finding.message, finding.because, finding.fix):
            assert text
            assert not text.endswith((".", " ", ","))
            assert "None" not in text


# Versions.

NEWEST = list(releases())[-1]
LABELS = ("emr-7.2.0", "emr-7.3.0", "emr-7.4.0", "emr-7.5.0", *releases())
OLD_HBASE = (2, 4, 17)
SPANNED = [case for case in CASES if not OF[case.id].hbase == OF[case.id].emr == ANY]


@pytest.mark.parametrize("label", LABELS)
@pytest.mark.parametrize("case", SPANNED, ids=lambda case: case.id)
def test_a_rule_about_some_versions_speaks_of_those_alone(case: Case, label: str) -> None:
    rule, release = OF[case.id], releases().get(label)
    emr = parse_version(label.removeprefix("emr-"))
    concerned = rule.emr.holds(emr) and rule.hbase.holds(release.hbase if release else OLD_HBASE)
    assert bool(speaks(case.id, lint(read(replace(case.faulty, release=label))))) == concerned


@pytest.mark.parametrize("case", SPANNED, ids=lambda case: case.id)
def test_a_rule_about_some_versions_is_silent_without_a_release(case: Case) -> None:
    assert not speaks(case.id, lint(read(replace(case.faulty, release=None))))


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
    faulty = EXAMPLE[rule].faulty
    assert speaks(rule, lint(read(replace(faulty, release=inside))))
    assert not speaks(rule, lint(read(replace(faulty, release=outside))))


def test_a_newer_release_counts_as_the_newest_in_the_table() -> None:
    report = lint(read(File(release="emr-7.99.0")))
    assert any(
        finding.message.startswith(f"emr-7.99.0 is newer than {NEWEST}")
        and finding.message.endswith(f"lint treats it as {NEWEST}")
        for finding in report.findings
    )
    assert ids(report) == ids(lint(read(File(release=NEWEST))))


# A label, part of the message about it, and the start of the fix.
LABEL_FINDINGS = [
    ("7.12.0", "'7.12.0' is not a release label", "write emr-7.12.0"),
    ("emr-7.12", "'emr-7.12' is not a release label", "write emr-7.12.0"),
    ("latest", "'latest' is not a release label", "write emr-7.14.0"),
    ("emr-7.5.0", "emr-7.5.0 ships an HBase before 2.6: lint did not check its keys", "use emr-7.6.0 or later"),
    ("emr-5.36.2", "emr-5.36.2 ships an HBase before 2: lint checked only what holds", "use emr-7.6.0 or later"),
    ("emr-7.12.1", "emr-7.12.1 is not in the table of releases; lint treats it as emr-7.12.0", "use one of: emr-7.6.0"),
    ("emr-8.0.0", "emr-8.0.0 cannot start in the network that warmbase creates", "use emr-7.14.0"),
    ("emr-spark-8.1.0", "emr-spark-8.1.0 is a runtime for Apache Spark only", "use one of: emr-7.6.0"),
]


@pytest.mark.parametrize(("label", "says", "fix"), LABEL_FINDINGS)
def test_an_unknown_label_is_reported(label: str, says: str, fix: str) -> None:
    (reported,) = speaks("WB110", lint(read(File(release=label))))
    assert says in reported.message
    assert reported.fix.startswith(fix)


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
    release = release_of(label).release
    assert release is not None
    assert release.hbase == hbase


@on_every_case
def test_for_hbase_1_only_rules_about_it_report(case: Case) -> None:
    """HBase 1 does not have most settings of the good cluster, and lint is silent about them."""
    for finding in lint(read(replace(case.faulty, release="emr-5.36.2"))).findings:
        assert OF[finding.id].of_hbase_1


OF_ANY_HBASE = ("WB301", "WB901", "WB701", "WB601", "WB602", "WB610", "WB403", "WB406", "WB112", "WB101")


@pytest.mark.parametrize("rule", OF_ANY_HBASE)
def test_rules_about_any_hbase_report_for_hbase_1(rule: str) -> None:
    assert speaks(rule, lint(read(replace(EXAMPLE[rule].faulty, release="emr-5.36.2"))))


@on_every_case
def test_without_hbase_only_rules_about_any_cluster_report(case: Case) -> None:
    for finding in lint(without_hbase(subject(case.id))).findings:
        assert not OF[finding.id].of_hbase


def without_hbase(whole: ClusterSpec) -> ClusterSpec:
    """Return the same cluster for Spark, without the application and the classifications of HBase."""
    classifications = {
        name: line for name, line in whole.classifications.items() if not name.lower().startswith("hbase")
    }
    settings = {key: setting for key, setting in whole.settings.items() if key[0] in classifications}
    return replace(whole, applications=("Spark",), classifications=classifications, settings=settings)


ANYWHERE = ("WB102", "WB112", "WB113", "WB115", "WB601", "WB611", "WB612", "WB702", "WB705", "WB708", "WB709", "WB901")


@pytest.mark.parametrize("rule", ANYWHERE)
def test_rules_about_any_cluster_report_without_hbase(rule: str) -> None:
    hadoop = File(others={"hdfs-site": {"dfs.support.append": "true"}})
    quoteless = File(again=({"Classification": "hdfs-site", "Properties": {"dfs.blocksize": 1048576}},))
    instead = {"WB102": hadoop, "WB115": quoteless}
    assert speaks(rule, lint(without_hbase(read(instead.get(rule, EXAMPLE[rule].faulty)))))


@pytest.mark.parametrize("name", ["HBase", "hbase"])
def test_a_cache_without_the_application_is_reported(name: str) -> None:
    assert not speaks("WB710", lint(read(File(applications=(name,)))))
    assert speaks("WB710", lint(read(File(applications=("Spark",)))))


SECRET = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"


@pytest.mark.parametrize(
    "file",
    [
        File(others={"core-site": {"fs.s3a.secret.key": SECRET}}),
        File({"fs.s3a.acess.key": SECRET}),
        File(others={"hbase-env/export": {"HBASE_REGIONSERVER_OPTS": f"-Xmx9g -Dfs.s3a.secret.key={SECRET}"}}),
    ],
    ids=["a property", "a slip", "an option"],
)
def test_no_credential_is_printed(file: File) -> None:
    """Logs keep the output of lint, so no credential may be in it."""
    report = lint(read(file))
    assert speaks("WB901", report)
    assert SECRET not in str(report)
