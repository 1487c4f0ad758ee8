"""The schema of environment files for editors: environments/schema.json."""

from __future__ import annotations

import json

from environments.reader.schema import EnvironmentFile

__all__ = ["schema_text"]


def schema_text() -> str:
    """The JSON schema as the file holds it."""
    schema = EnvironmentFile.model_json_schema()
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    schema["title"] = "warmbase environment"
    return json.dumps(schema, indent=2) + "\n"
