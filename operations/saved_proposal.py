"""A proposal in a file: one person reviews it, and a later command carries out exactly that proposal or nothing."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from msgspec import Struct

from environments.regular_file import read_regular_file
from operations.basis import Basis, refuse_moved
from operations.proposal import Proposal
from sizing.problem import InvalidInput, Refused

FORMAT: Final = 1
SAVE_AGAIN: Final = "save a proposal again: warmbase deploy ENV --save FILE"


class SavedProposal(Struct, frozen=True, kw_only=True):
    """The facts that a proposal was made from, and the templates and settings that it applies."""

    file: Path
    environment: str
    basis: Basis
    outcome: Basis

    def refuse_other(self, proposed: Proposal) -> None:
        """Refuse a proposal that is not the saved one. Raises Refused with each fact that differs."""
        if self.environment != proposed.environment.name:
            raise Refused.of(
                where=str(self.file),
                what=f"is a proposal for environment {self.environment}",
                why=f"the command is for environment {proposed.environment.name}",
                fix=f"name that environment's file as ENV: warmbase deploy ENV --apply {self.file}",
            )
        refuse_moved({**self.basis, **self.outcome}, {**proposed.basis, **proposed.outcome})


def write_proposal(file: Path, proposed: Proposal, content: object) -> None:
    """Write a proposal; `content` is what a person reviews. Raises InvalidInput where the file cannot be written."""
    document = {
        "format": FORMAT,
        "environment": proposed.environment.name,
        "basis": proposed.basis,
        "outcome": proposed.outcome,
        "proposal": content,
    }
    draft = file.with_name(f".{file.name}.new")
    try:
        draft.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
        draft.replace(file)
    except OSError as error:
        raise InvalidInput.of(
            where=str(file),
            what="cannot be written",
            why=str(error),
            fix="name a file in a directory that you may write to",
        ) from None


def read_proposal(file: Path) -> SavedProposal:
    """Return a saved proposal. Raises InvalidInput if the file does not hold one."""
    try:
        document: Mapping[str, Any] = json.loads(read_regular_file(file))
        if document["format"] != FORMAT:
            raise InvalidInput.of(
                where=str(file),
                what=f"has format {document['format']}, and this version reads format {FORMAT}",
                why="another version of warmbase saved it",
                fix=SAVE_AGAIN,
            )
        return SavedProposal(
            file=file,
            environment=str(document["environment"]),
            basis=dict(document["basis"]),
            outcome=dict(document["outcome"]),
        )
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InvalidInput.of(
            where=str(file), what="is not a saved proposal", why=f"{type(error).__name__}: {error}", fix=SAVE_AGAIN
        ) from None
