"""The inputs and the command that a page shows: a shell reads it as the file, the cluster and the values."""

from __future__ import annotations

import shlex
from pathlib import Path

from warmbase.environments.reader import locate
from warmbase.environments.reader.assignment import Assignment
from warmbase.reports.explorer.subject import Subject


def test_the_name_of_a_file_is_one_word_of_the_command(tmp_path: Path) -> None:
    file = tmp_path / "it's mine; yes.yaml"
    file.write_text(locate("dev").read_text())
    command = Subject.read(str(file), "blue").command({"workload.stored": "300 GiB"})
    assert shlex.split(command) == ["warmbase", "plan", str(file), "--set", "workload.stored=300GiB"]


def test_the_command_names_the_cluster_that_is_not_active(tmp_path: Path) -> None:
    file = tmp_path / "two.yaml"
    file.write_text(f"{locate('dev').read_text()}  green: {{role: replica, primaries: 1}}\n")
    assert Subject.read(str(file), "green").command({}) == f"warmbase plan {file} --cluster green"


def test_the_command_sets_what_the_report_sets_but_tells_no_value_of_an_override() -> None:
    options = ("workload.stored=300 GiB", "tags.note=3 teams", "overrides.hbase-site.a.password=secret")
    command = Subject.read("dev", "blue", [Assignment.parse(option) for option in options]).command({})
    assert command == (
        "warmbase plan dev --set 'workload.stored=300 GiB' --set 'tags.note=3 teams'"
        " --set overrides.hbase-site.a.password=VALUE"
    )


def test_the_inputs_are_those_of_a_section_that_an_option_sets_as_a_whole() -> None:
    inputs = Subject.read("dev", "blue", [Assignment.parse("workload.reads={concurrency: 50}")]).inputs
    assert inputs["workload.reads.concurrency"].text == "50"
    assert "workload.reads.per_second" not in inputs
