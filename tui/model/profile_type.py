"""The whole model of profile files: a profile, with a key for the part of each load generator that is installed."""

from __future__ import annotations

import functools
from typing import Any, Literal

from pydantic import Field, create_model

from tui.model.problem import UsageError
from tui.model.profile import TOOL, Profile
from tui.model.tool import SUITE, installed, rules


@functools.cache
def whole() -> type[Profile]:
    """Return the model of profile files: a field for the part of each load generator that is installed."""
    parts: dict[str, Any] = {
        name: (rules(name).body() | None, Field(None, description=f"What {name} does (tool: {name})"))
        for name in installed()
    }
    if taken := [name for name in parts if hasattr(Profile, name) or name in Profile.model_fields or name == SUITE]:
        raise UsageError(f"a load generator cannot be called '{taken[0]}': profiles have that key already")
    allowed: Any = Literal[(*parts, SUITE)]
    parts["tool"] = (allowed, Field(description=TOOL))
    return create_model("Profile", __base__=Profile, __doc__="A benchmark profile.", **parts)


def profile_json_schema() -> dict[str, Any]:
    """Return the JSON Schema of a profile file."""
    schema = whole().model_json_schema(by_alias=True)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema, "title": "benchtui profile"}
