"""The collector and the options of a RegionServer's JVM."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from typing import Final

from warmbase.configurations.node_files import assigned
from warmbase.configurations.properties.property import Span
from warmbase.emr.cluster_spec import PLACEHOLDER
from warmbase.linter.finding import Consequence, Severity, new_value
from warmbase.linter.node import EXPORT, LintedNode, is_all_placeholder, java_version, jvm_options
from warmbase.linter.rule import BOOTED, Rule, Violation

GENERATIONAL: Final = "+ZGenerational"
GENERATIONAL_FROM: Final = 21
OPTIONS: Final = "HBASE_REGIONSERVER_OPTS"
CONFIGURE: Final = "EMR Release Guide, emr-hbase-configure"
SUBSTITUTED: Final = re.compile(r"\$\([^()]*\)|`[^`]*`|\$\{[^{}]*\}")
"""A command substitution or a variable counts as one word of an assignment, even where its text has blanks."""


@Rule(
    id="WB401",
    severity=Severity.ERROR,
    title="generational ZGC on a JDK without it",
    because="the JVM stops with Unrecognized VM option 'ZGenerational', which JDK 21 introduced",
    fix="set JAVA_HOME=/usr/lib/jvm/jre-21 (emr-7.10.0 or later), or use -XX:+UseG1GC",
    source=f"{CONFIGURE}; JDK 21",
    proof="the lab does not vary the JDK",
    of_hbase_1=True,
)
def _generational_without_jdk(node: LintedNode) -> Iterator[Violation]:
    flag, java = jvm_options(node).with_flag(GENERATIONAL), java_version(node)
    if flag is None or java is None or java >= GENERATIONAL_FROM:
        return
    origin = "from JAVA_HOME" if node.setting("JAVA_HOME", EXPORT) else "the release's default"
    yield Violation(flag, f"the JVM does not start: Java {java} ({origin}) has no generational ZGC")


@Rule(
    id="WB402",
    severity=Severity.WARNING,
    title="ZGC on a release for which EMR does not document it",
    because="EMR documents ZGC with Java 21 for HBase from 7.10 on",
    fix="use emr-7.10.0 or later, or G1",
    source=CONFIGURE,
    proof="the lab does not vary the JDK",
    emr=Span(until=(7, 10, 0)),
    of_hbase_1=True,
)
def _undocumented_zgc(node: LintedNode) -> Iterator[Violation]:
    uses = [setting for name, setting in jvm_options(node).collectors if name == "UseZGC"]
    if uses:
        label = node.release.label if node.release else ""
        yield Violation(uses[0], f"{label} does not document ZGC or Java 21 for HBase")


@Rule(
    id="WB403",
    severity=Severity.ERROR,
    title="more than one garbage collector",
    because="the JVM stops with Multiple garbage collectors selected",
    fix="keep one, in HBASE_REGIONSERVER_GC_OPTS",
    source="tried with JDK 17 and 21",
    proof=BOOTED,
    of_hbase_1=True,
)
def _two_collectors(node: LintedNode) -> Iterator[Violation]:
    collectors = jvm_options(node).collectors
    if len(collectors) > 1:
        names = ", ".join(name for name, _ in collectors)
        yield Violation(collectors[-1][1], f"the JVM does not start with {len(collectors)} collectors: {names}")


@Rule(
    id="WB404",
    severity=Severity.WARNING,
    consequence=Consequence.IGNORED,
    title="HBASE_REGIONSERVER_OPTS that replaces existing options",
    because="hbase-env.sh keeps only the last assignment",
    fix="append to $HBASE_REGIONSERVER_OPTS",
    source="Amazon EMR best practices",
    proof="EMR's own shell scripts read these options",
    of_hbase_1=True,
)
def _overwrites(node: LintedNode) -> Iterator[Violation]:
    setting = node.setting(OPTIONS, EXPORT)
    if setting and not is_all_placeholder(setting) and not re.search(r"\$\{?HBASE_REGIONSERVER_OPTS", setting.value):
        yield Violation(
            setting,
            "this drops the options that exporters, agents and EMR put into the variable",
            fix=_appended(setting.value),
        )


def _appended(value: str) -> str:
    plain = _without_quotes(value)
    begin = f"start the value with ${OPTIONS}"
    return begin if plain is None else f'{begin}: "${OPTIONS} {plain}"'


@Rule(
    id="WB406",
    severity=Severity.ERROR,
    title="unquoted value with blanks, or an unclosed quote",
    because="EMR writes the value into a shell script, where the first blank ends it",
    fix="quote the whole value, and put a backslash before each quote inside it",
    source=CONFIGURE,
    proof="EMR's own shell scripts read these options",
    roles=("primary", "core"),
    of_hbase_1=True,
)
def _unquoted(node: LintedNode) -> Iterator[Violation]:
    for (path, _), setting in node.settings.items():
        value = setting.value.strip()
        words = _shell_word_count(value) if path == EXPORT else 1
        if value and words != 1:
            plain = _without_quotes(value)
            yield Violation(
                setting,
                f"{setting.key} has blanks and is not quoted inside the value"
                if words
                else f"{setting.key} has a quote that is never closed",
                fix=None if plain is None else f'write \\"{plain}\\"',
                edit=new_value(f'"{plain}"') if plain is not None and words else None,
            )


@Rule(
    id="WB413",
    severity=Severity.ERROR,
    title="variable inside single quotes",
    because="the daemon receives the variable's name instead of its value, and Java takes that for the main class",
    fix="use double quotes",
    source="bash",
    proof="EMR's own shell scripts read these options",
    roles=("primary", "core"),
    of_hbase_1=True,
)
def _used_verbatim(node: LintedNode) -> Iterator[Violation]:
    for (path, _), setting in node.settings.items():
        if path == EXPORT and re.search(r"'[^']*\$[A-Za-z_{][^']*'", setting.value):
            yield Violation(setting, "the shell does not expand variables inside single quotes")


@Rule(
    id="WB421",
    severity=Severity.ERROR,
    title="JVM option with a blank",
    because="HBase's start script expands the variable without quotes, so the blank ends the option, and the JVM does"
    " not start with the rest of it",
    fix="write the option without a blank",
    source="HBase bin/hbase, the line that starts Java",
    proof="tried with JDK 17",
    roles=("primary", "core"),
    of_hbase_1=True,
)
def _option_with_blank(node: LintedNode) -> Iterator[Violation]:
    for (path, key), setting in node.settings.items():
        if path != EXPORT or not key.endswith("_OPTS"):
            continue
        text = _words_of_options(setting.value)
        if option := _split_option(text):
            yield Violation(
                setting,
                f"the JVM does not start: HBase splits {option} at its blank, and quotes do not help",
                fix="remove it: HBase kills a JVM that runs out of memory" if "OnOutOfMemoryError" in option else None,
            )
        elif word := _bare_word(text.split()):
            yield Violation(setting, f"the JVM does not start: it takes {word} for the name of its main class")


def _words_of_options(value: str) -> str:
    """Return the text of the variable; empty if another rule reports its quotes."""
    text = SUBSTITUTED.sub("$x", PLACEHOLDER.sub("$x", value))
    return assigned(text) if _shell_word_count(value) == 1 else ""


def _split_option(text: str) -> str | None:
    """Return the first option that quotes are meant to hold together; None where there is none."""
    try:
        return next((word for word in shlex.split(text) if re.search(r"\s", word)), None)
    except ValueError:  # an apostrophe that is part of an option
        return None


def _bare_word(words: list[str]) -> str | None:
    """Return the first word that is neither an option nor the value of the option before it; None without one."""
    for before, word in zip(["", *words], words, strict=False):
        if not word.startswith(("-", "$", "`", "@")) and not before.startswith(("--", "-cp", "-classpath")):
            return word
    return None


def _shell_word_count(value: str) -> int:
    """How many words a shell sees; a gap is one letter. 0 for a quote that is never closed."""
    try:
        return len(shlex.split(SUBSTITUTED.sub("x", PLACEHOLDER.sub("x", value))))
    except ValueError:
        return 0


def _without_quotes(value: str) -> str | None:
    """The value as it goes between double quotes; None where quotes or backslashes in it mean something."""
    stripped = value.strip()
    for quote in ('"', "'"):
        if stripped.startswith(quote) and stripped.endswith(quote) and stripped.count(quote) == 2:  # noqa: PLR2004
            stripped = stripped[1:-1].strip()
    plain = stripped if re.search(r"[\"'\\\\`]", stripped) is None else None
    return plain or None
