"""Completion in a shell: commands, environments, and the words that explain takes."""

from __future__ import annotations

import pytest
from click.shell_completion import BashComplete

from warmbase.cli.commands import warmbase


@pytest.mark.parametrize(
    ("words", "start", "completions"),
    [
        ([], "expla", {"explain"}),
        (["plan"], "pr", {"prod"}),
        (["explain"], "d", {"dev"}),
        (["explain", "prod"], "warm", {"warm", "warm-up"}),
        (["explain", "prod"], "hbase.bucketcache.siz", {"hbase.bucketcache.size"}),
    ],
)
def test_a_shell_completes_commands_environments_and_words(words: list[str], start: str, completions: set[str]) -> None:
    completer = BashComplete(warmbase, {}, "warmbase", "_WARMBASE_COMPLETE")
    assert {item.value for item in completer.get_completions(words, start)} == completions
