"""Shipped JSON Schemas, generated from the models by `make reference`, so that printing one does
not import the models.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from tui.model.tool import foreign

FOLDER = Path(__file__).parent


def schema_text(kind: str) -> str:
    """Return a JSON Schema with a final newline.

    With load generators of other packages, the profile's schema is generated anew to include their
    sections.
    """
    if kind == "profile" and foreign():
        return made(kind)
    return path_of(kind).read_text(encoding="utf-8")


def path_of(kind: str) -> Path:
    """Return the file of a shipped schema."""
    return FOLDER / f"{kind}.json"


def made(kind: str) -> str:
    """Generate a JSON Schema from its models."""
    return json.dumps(KINDS[kind](), indent=1) + "\n"


def _run() -> dict[str, Any]:
    from tui.model.record import run_json_schema

    return run_json_schema()


def _profile() -> dict[str, Any]:
    from tui.model.profile_model import profile_file_schema

    return profile_file_schema()


def _inventory() -> dict[str, Any]:
    from tui.model.inventory import inventory_json_schema

    return inventory_json_schema()


def _baselines() -> dict[str, Any]:
    from tui.model.baseline import baseline_json_schema

    return baseline_json_schema()


KINDS: Mapping[str, Callable[[], dict[str, Any]]] = {
    "run": _run,
    "profile": _profile,
    "inventory": _inventory,
    "baselines": _baselines,
}
