"""Configurations that others have published, linted and judged by hand: see published/verdicts.toml."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path

import pytest

from warmbase.ground.errors import InvalidInput
from warmbase.linter.lint import lint
from warmbase.linter.reader import read_subject
from warmbase.linter.rules import BUGS, RULES

OURS = Path(__file__).parent / "published"
OF_AWS = Path(__file__).parents[2] / "docs" / "published"
LICENCES = ("MIT-0", "Apache-2.0", "CC BY-SA 4.0", "none")
SILENCE = "silence"
FEWEST = 20


def read_toml(path: Path) -> Mapping[str, Mapping[str, str]]:
    return tomllib.loads(path.read_text(encoding="utf-8"))


SOURCES = {
    name: (folder, source) for folder in (OF_AWS, OURS) for name, source in read_toml(folder / "sources.toml").items()
}
VERDICTS = read_toml(OURS / "verdicts.toml")


def ids(name: str) -> set[str]:
    """Return the rules that report something, without the bugs that follow from the release alone."""
    folder, source = SOURCES[name]
    findings = lint(read_subject(folder / source["file"], source["release"])).findings
    return {finding.id for finding in findings} - BUGS


@pytest.mark.parametrize("name", SOURCES)
def test_lint_finds_what_a_person_finds(name: str) -> None:
    assert ids(name) == VERDICTS[name].keys() - {SILENCE}


def test_the_api_does_not_take_small_letters(tmp_path: Path) -> None:
    file = tmp_path / "launch.json"
    file.write_text('{"Configurations": [{"classification": "hbase-site", "properties": {}}]}', encoding="utf-8")
    with pytest.raises(InvalidInput, match="did you mean Classification"):
        read_subject(file, None)


def test_at_least_twenty_files_have_a_verdict() -> None:
    files = {folder / source["file"] for folder, source in SOURCES.values()}
    assert len(files) >= FEWEST
    assert files == {path for folder in (OF_AWS, OURS) for path in folder.iterdir() if path.suffix != ".toml"}
    assert list(VERDICTS) == list(SOURCES)


@pytest.mark.parametrize("name", SOURCES)
def test_a_verdict_has_a_reason_for_each_rule(name: str) -> None:
    verdict = VERDICTS[name]
    assert verdict.keys() <= {SILENCE, *(rule.id for rule in RULES)}
    assert verdict, "a file without findings states why lint is silent"
    assert all(len(reason.split()) > 2 for reason in verdict.values())


@pytest.mark.parametrize("name", SOURCES)
def test_a_source_states_where_it_is_from_and_its_licence(name: str) -> None:
    _, source = SOURCES[name]
    assert source["source"]
    assert source["licence"].startswith(LICENCES)


def test_an_option_of_emrfs_is_laid_beside_the_configurations(tmp_path: Path) -> None:
    script = tmp_path / "create.sh"
    script.write_text(
        "aws emr create-cluster --release-label emr-7.12.0 --emrfs Consistent=True,RetryCount=5 "
        """--configurations '[{"Classification":"hbase-site","Properties":{"hbase.rpc.timeout":"60000"}}]'""",
        encoding="utf-8",
    )
    values = {key: setting.value for (_, key), setting in read_subject(script, None).settings.items()}
    assert values == {"hbase.rpc.timeout": "60000", "fs.s3.consistent": "true", "fs.s3.consistent.retryCount": "5"}
