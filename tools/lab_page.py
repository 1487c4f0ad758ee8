"""docs/lab-results.md and its like: a committed run of the lab, figure by figure, its curves in docs/pictures/."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from lab.hbase import report
from lab.hbase.result import Chart, Measurement, Run, Scenario, TargetKind
from warmbase.ground.errors import InvalidInput
from warmbase.reports.markdown import bullets, paragraph, section, table

DOCS: Final = Path(__file__).parents[1] / "docs"
RESULTS: Final = "lab-results"
THREE_SERVERS: Final = "lab-three-servers"
COLD_CACHES: Final = "lab-cold-caches"
ROLLING_RESTART: Final = "lab-rolling-restart"
COMPACTION: Final = "lab-compaction"
HEAL: Final = "lab-heal"
FILLS: Final = "lab-fills"
NODE_LOST: Final = "lab-node-lost"
WRITES: Final = "lab-writes"
HDFS_ENCRYPTION: Final = "lab-hdfs-encryption"
TABLES: Final = "lab-tables"
TRINO_CACHE: Final = "lab-trino-cache"
RUNS: Final = (
    RESULTS,
    WRITES,
    HDFS_ENCRYPTION,
    TABLES,
    THREE_SERVERS,
    COLD_CACHES,
    ROLLING_RESTART,
    COMPACTION,
    HEAL,
    FILLS,
    NODE_LOST,
    TRINO_CACHE,
)
"""The runs that may be committed: four of one RegionServer come first, one of Trino last. NAME.json makes NAME.md."""
LEARNT: Final = "lab-learnt.md"
"""Our own conclusions from all runs, if there are any; they follow the targets of the first."""
PICTURES: Final = "pictures"
MANY_FACTS: Final = 20
"""Above this number, facts would hide the targets that tell more."""
TARGETS: Final = ("scenario", "case", "figure", "target", "measured", "predicted", "outcome")
FIGURES: Final = ("", "case", "figure", "measured", "predicted", "ratio", "target", "outcome")


def lab_results_page(docs: Path, name: str = RESULTS) -> str:
    """The page of the run that is committed there. Raises InvalidInput where there is none, or none can be read."""
    learnt = docs / LEARNT
    has_learnt = name == RESULTS and learnt.exists()
    return lab_page(
        committed_run(docs / f"{name}.json"), learnt.read_text(encoding="utf-8") if has_learnt else "", name
    )


def lab_results_files(docs: Path) -> Mapping[Path, str]:
    """The pages and every picture on them, by where they belong; nothing where no run is committed."""
    files = {}
    for name in RUNS:
        if (docs / f"{name}.json").exists():
            pictures = lab_pictures(committed_run(docs / f"{name}.json"))
            files[docs / f"{name}.md"] = lab_results_page(docs, name)
            files |= {docs / PICTURES / picture: content for picture, content in pictures.items()}
    return files


def write_lab_results(docs: Path) -> None:
    """Write the pages and their pictures, and remove those of an earlier run. Raises as a page does."""
    committed_run(docs / f"{RESULTS}.json")
    files = lab_results_files(docs)
    for file in there(docs) - files.keys():
        file.unlink()
    (docs / PICTURES).mkdir(exist_ok=True)
    for file, text in files.items():
        file.write_text(text, encoding="utf-8")


def there(docs: Path) -> set[Path]:
    """Pages and pictures that were written, of these runs or of earlier ones."""
    pages = (docs / f"{name}.md" for name in RUNS)
    return {*(page for page in pages if page.exists()), *docs.glob(f"{PICTURES}/lab-*.svg")}


def committed_run(file: Path) -> Run:
    """The run that a file holds. Raises InvalidInput for what cannot be read as one."""
    fix = "write the JSON of a run of `warmbase lab` there"
    try:
        return Run.of_json(file.read_text(encoding="utf-8"))
    except OSError as error:
        why = error.strerror or str(error)
    except (ValueError, KeyError, TypeError) as error:
        why = f"this is no run of the lab: {type(error).__name__}: {error}"
    raise InvalidInput.of(where=str(file), what="a run of the lab", why=why, fix=fix)


def lab_page(run: Run, learnt: str = "", name: str = RESULTS) -> str:
    """The page of that name, in Markdown; `learnt` is Markdown of ours, everything else text of the run."""
    scale = [tuple(map(_cell, row)) for row in run.scale]
    chapter = ("## What was learnt", learnt.strip()) if learnt.strip() else ()
    return (
        section(
            *_targets(run),
            *chapter,
            *_what_ran(run, name),
            *(("## The scale", table(("what", "in the plan", "here"), scale)) if scale else ()),
            *(part for scenario in run.scenarios for part in _scenario(scenario)),
            *_properties(run),
        )
        + "\n"
    )


def lab_pictures(run: Run) -> Mapping[str, str]:
    """Return each chart as SVG, by the name of its file."""
    from lab.hbase.report.charts import picture  # noqa: PLC0415 - half a second that the text does not need

    drawn = (
        (_picture_name(scenario, number), chart) for scenario in run.scenarios for number, chart in _charts(scenario)
    )
    return {name: f"{picture(chart)}\n" for name, chart in drawn}


def _targets(run: Run) -> Iterator[str]:
    """Yield every target first of all, in one table, whether it held or not."""
    yield "# What the lab measured"
    yield f"**{report.verdict(run)}**"
    rows = [row for scenario in run.scenarios for row in _target_rows(scenario)]
    if rows:
        yield table(TARGETS, rows, right=(4, 5))
    yield paragraph(
        "Each scenario follows with all its figures. **ratio** is measured over predicted. The notes under a table say "
        "how each prediction was made, or how a figure without a prediction was measured."
    )


def _target_rows(scenario: Scenario) -> Iterator[tuple[str, ...]]:
    """A scenario and a case are named where they begin; many facts that are as predicted are one row."""
    link = f"[{_cell(scenario.title)}](#{_anchor(scenario.title)})"
    facts = [
        candidate
        for candidate in scenario.figures
        if candidate.holds and candidate.target and candidate.target.kind is TargetKind.SAME
    ]
    listed = [candidate for candidate in scenario.figures if candidate.target]
    if len(facts) > MANY_FACTS:
        cases, name = len(report.by_case(facts)), f"{len(facts):,} facts, each below"
        yield (link, f"{cases} cases", name, report.target_text(facts[0]), "", "", _outcome(facts[0]))
        listed, link = [candidate for candidate in listed if candidate not in facts], ""
    for case, figures in report.by_case(listed).items():
        named = _cell(case) or report.NOTHING
        for figure in figures:
            texts = (report.target_text(figure), report.measured_text(figure), report.predicted_text(figure))
            yield (link, named, _cell(figure.name), *map(_cell, texts), _outcome(figure))
            link = named = ""


def _outcome(figure: Measurement) -> str:
    verdict = report.outcome(figure)
    return f"**{verdict}**" if figure.holds is False else verdict or report.NOTHING


def _scenario(scenario: Scenario) -> Iterator[str]:
    yield f"## {_plain(scenario.title)}"
    yield paragraph(_plain(scenario.question))
    if scenario.figures:
        grouped = report.by_case(scenario.figures)
        yield table(FIGURES, _rows(grouped), right=(0, 3, 4, 5))
        yield bullets(*_reasons(figure for figures in grouped.values() for figure in figures))
    for number, chart in _charts(scenario):
        yield f"![{_plain(chart.title)}](pictures/{_picture_name(scenario, number)})"
        yield paragraph(f"*{_plain(chart.title)}.*")
    if scenario.limits:
        yield "Limits of these figures:"
        yield bullets(*map(_plain, scenario.limits))
    if scenario.tried:
        yield "Properties that this scenario changed:"
        yield bullets(*map(_plain, report.tried_text(scenario.tried)))
    yield paragraph(_plain(report.times_of(scenario)))


def _rows(grouped: Mapping[str, Sequence[Measurement]]) -> Iterator[tuple[str, ...]]:
    number = 0
    for case, figures in grouped.items():
        for place, figure in enumerate(figures):
            number += 1
            yield (
                str(number),
                "" if place else _cell(case) or report.NOTHING,
                f"**{_cell(figure.name)}**",
                _cell(report.measured_text(figure)),
                _cell(report.predicted_text(figure)),
                report.ratio_text(figure),
                _cell(report.target_text(figure)),
                _outcome(figure),
            )


def _reasons(figures: Iterable[Measurement]) -> Iterator[str]:
    """Each reason once, behind the numbers of the figures that have it."""
    numbers: dict[str, list[str]] = {}
    for number, figure in enumerate(figures, 1):
        numbers.setdefault(figure.because, []).append(str(number))
    return (f"**{', '.join(names)}**: {_plain(reason)}." for reason, names in numbers.items())


def _what_ran(run: Run, name: str) -> Iterator[str]:
    yield "## What ran"
    yield paragraph(
        f"Generated by `python -m tools.reference {name}` from [a run]({name}.json) of {_plain(run.environment)} on "
        f"{_plain(run.release)}: {_plain(report.when(run))}, on {_plain(report.machine_text(run.machine))}. "
        "To repeat it on your machine:"
    )
    yield f"```console\n$ {' '.join(run.command.split())}\n```"
    if run.substitution:
        yield paragraph(_plain(run.substitution))
    yield table(("software", "version"), ((_cell(name), _cell(version)) for name, version in run.software))
    yield paragraph(_plain(report.limits_of_the_machine(run.machine)))


def _properties(run: Run) -> Iterator[str]:
    yield "## Properties"
    yield paragraph(_plain(report.properties_text(run)))
    for why, substitutions in report.differences_by_reason(run.substitutions).items():
        lines = [f"{sign} {text}" for substitution in substitutions for sign, text in report.difference(substitution)]
        fence = "`" * max(3, 1 + max(len(ticks) for ticks in re.findall("`*", "\n".join(lines))))
        yield paragraph(f"{_plain(why)}:")
        yield "\n".join((f"{fence}diff", *lines, fence))


def _charts(scenario: Scenario) -> Iterator[tuple[int, Chart]]:
    return enumerate(scenario.charts, 1)


def _picture_name(scenario: Scenario, number: int) -> str:
    return f"lab-{report.slug(scenario.name)}-{number}.svg"


def _anchor(title: str) -> str:
    """The address that GitHub gives a heading."""
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")


def _plain(text: str) -> str:
    """Text that Markdown takes for text; what stands between backticks stays code."""
    parts = text.split("`")
    if len(parts) % 2 == 0:
        return _escaped(text.replace("`", "'"))
    return "`".join(part if number % 2 else _escaped(part) for number, part in enumerate(parts))


def _escaped(text: str) -> str:
    entities = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    marks = re.sub(r"[\\*\[\]~|]|(?<!\w)_|_(?!\w)", r"\\\g<0>", entities)
    # What would begin a list or a heading if a line began with it.
    return re.sub(r"(?<!\S)[-+#](?=\s)", r"\\\g<0>", marks)


def _cell(text: str) -> str:
    """Return the same in one line, with no end of a cell in it."""
    return re.sub(r"(?<!\\)\|", r"\\|", _plain(" ".join(text.split())))
