"""An inspection file: what real store files were found to hold, as JSON. `inspections/schema.json` describes it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from warmbase.ground.block import FAMILY_FORM, TABLE_FORM, FamilyTotals, Inspection, LengthHistogram
from warmbase.ground.errors import InvalidInput, Problem
from warmbase.ground.files import read_whole_file

Amount = Annotated[int, Field(ge=0, lt=2**63)]
"""A number of bytes, blocks or cells: a long of Java, as HBase counts them."""
Length = Annotated[Amount, Field(ge=1)]
Pairs = Annotated[list[tuple[Length, Length]], Field(min_length=1)]
"""[[bytes, blocks], …]: how many blocks have which cached length."""


MOST_PROBLEMS = 100  # judgement: nobody reads more


class FamilyFile(BaseModel):
    """One column family of one table."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)

    table: Annotated[str, Field(pattern=TABLE_FORM)]
    family: Annotated[str, Field(pattern=FAMILY_FORM)]
    cached_lengths: Pairs
    cached_lengths_compressed: Pairs
    index_bytes: Amount
    bloom_bytes: Amount
    cells: Length
    rows: Length
    largest_cell_bytes: Length
    codec: Literal["none", "gz", "snappy", "lz4", "zstd", "lzo", "bzip2"]
    encoding: Literal["NONE", "PREFIX", "DIFF", "FAST_DIFF", "ROW_INDEX_V1"]
    files: Length
    regions: Length
    bloom: str = ""
    key_bytes: Amount = 0
    value_bytes: Amount = 0
    block_bytes: Amount = 0
    files_read: Amount = 0
    unread_bytes: Amount = 0
    zstd_ratio: Annotated[float, Field(ge=0)] = 0.0
    relative_error: Annotated[float, Field(ge=0)] = 0.0

    def build(self) -> FamilyTotals:
        """Return the section as the type that the calculator uses."""
        return FamilyTotals(
            name=self.family,
            lengths=LengthHistogram.of(self.cached_lengths),
            compressed_lengths=LengthHistogram.of(self.cached_lengths_compressed),
            **self.model_dump(exclude={"family", "cached_lengths", "cached_lengths_compressed"}),
        )


class InspectionFile(BaseModel):
    """A whole HBase root, family by family. Lengths are those that a persistent file engine caches."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)

    root: str
    inspected_at: Annotated[str, Field(pattern=r"^\d{4}-\d\d-\d\d", examples=["2026-11-20T09:00:00Z"])]
    stored_bytes: Length
    families: Annotated[list[FamilyFile], Field(min_length=1)]
    coprocessors: dict[str, list[str]] = Field(default_factory=dict)

    def build(self) -> Inspection:
        """Return the section as the type that the calculator uses."""
        return Inspection(
            root=self.root,
            inspected_at=self.inspected_at,
            stored_bytes=self.stored_bytes,
            families=tuple(family.build() for family in self.families),
            coprocessors={table: tuple(classes) for table, classes in self.coprocessors.items()},
        )


def read_inspection(path: Path) -> Inspection:
    """Raises InvalidInput with every problem of the file."""
    try:
        return InspectionFile.model_validate_json(read_whole_file(path).decode("utf-8")).build()
    except UnicodeDecodeError:
        raise InvalidInput([_problem(str(path), "cannot be read", "it is not text in UTF-8")]) from None
    except OSError as error:
        raise InvalidInput([_problem(str(path), "cannot be read", str(error))]) from None
    except ValidationError as error:
        raise InvalidInput(
            _problem(str(path), _key(details["loc"]), details["msg"].lower())
            for details in error.errors()[:MOST_PROBLEMS]
        ) from None


def _key(location: tuple[int | str, ...]) -> str:
    """Return where a problem is, in words that do not quote the names in the file.

    The author of an environment chooses the file, and its reader may post the answer: no other file is quoted.
    """
    known = {*FamilyFile.model_fields, *InspectionFile.model_fields}
    named = [str(part) for part in location if isinstance(part, int) or part in known]
    return ".".join(named + ["…"] * (len(named) < len(location))) or "file"


def inspection_text(inspection: Inspection) -> str:
    """Return the file, one pair of a histogram a line."""
    file = InspectionFile(
        root=inspection.root,
        inspected_at=inspection.inspected_at,
        stored_bytes=inspection.stored_bytes,
        families=[
            FamilyFile(
                family=family.name,
                cached_lengths=list(family.lengths.pairs),
                cached_lengths_compressed=list(family.compressed_lengths.pairs),
                **{name: getattr(family, name) for name in FamilyFile.model_fields if hasattr(family, name)},
            )
            for family in inspection.families
        ],
        coprocessors={table: list(classes) for table, classes in inspection.coprocessors.items()},
    )
    text = json.dumps(file.model_dump(mode="json"), indent=1)
    return re.sub(r"\[\s+(\d+),\s+(\d+)\s+\]", r"[\1, \2]", text) + "\n"


def inspection_schema_text() -> str:
    """The JSON schema of inspection files, as inspections/schema.json holds it."""
    schema = InspectionFile.model_json_schema()
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    schema["title"] = "warmbase inspection"
    return json.dumps(schema, indent=2) + "\n"


def _problem(where: str, what: str, why: str) -> Problem:
    return Problem(where=where, what=what, why=why, fix="see inspections/schema.json")
