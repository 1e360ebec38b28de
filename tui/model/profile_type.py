"""The whole model of profile files: a profile, with a key for the part of each load generator that is installed."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field, create_model, model_validator

from tui.model.plugin import guarded
from tui.model.problem import UsageError
from tui.model.profile import TOOL, Profile
from tui.model.tool import SUITE, foreign, installed, named, rules

if TYPE_CHECKING:
    from pydantic import BaseModel


@functools.cache
def whole() -> type[Profile]:
    """Return the model of profile files: a field for the part of each load generator that is installed.

    One of another package that fails spoils the profiles that have its part, and no others.
    """
    parts: dict[str, Any] = {
        name: (_part(name) | None, Field(None, description=f"What {name} does (tool: {name})")) for name in tools()
    }
    allowed: Any = Literal[(*parts, SUITE)]
    parts["tool"] = (allowed, Field(description=TOOL))
    return create_model("Profile", __base__=Profile, __doc__="A benchmark profile.", **parts)


def tools() -> list[str]:
    """Return the load generators whose part a profile can have; one called as another key of profiles has none."""
    return [name for name in installed() if not (hasattr(Profile, name) or name in Profile.model_fields)]


def _part(name: str) -> type[BaseModel]:
    """Return the model of a load generator's part of a profile; of one that fails a model that says so."""
    try:
        found = rules(name).body()
        if name in foreign():
            guarded(named(name), "body", found.model_rebuild)
            guarded(named(name), "body", found.model_json_schema)
    except UsageError as error:
        if name not in foreign():
            raise
        return _failing(name, error)
    return found


def _failing(name: str, why: UsageError) -> type[BaseModel]:
    """Return a model that refuses whatever it is given with the error of a plug-in."""

    def refuse(_: Any, __: Any, ___: Any) -> Any:
        raise why

    refusing: Any = model_validator(mode="wrap")(classmethod(refuse))  # type: ignore[arg-type]  # any model's
    return create_model(f"Failing_{name}", __doc__=str(why), __validators__={"refuse": refusing})


def profile_json_schema() -> dict[str, Any]:
    """Return the JSON Schema of a profile file."""
    schema = whole().model_json_schema(by_alias=True)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema, "title": "benchtui profile"}
