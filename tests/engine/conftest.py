"""What tests of the engine's room share."""

from __future__ import annotations

import pytest

from tui.engine.inputs.profiles import Catalogue


@pytest.fixture(scope="module")
def catalogue(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Catalogue:
    """The presets, and the profiles that the module of the test names `OWN`: texts by name."""
    folder = tmp_path_factory.mktemp("profiles")
    for name, text in request.module.OWN.items():
        (folder / f"{name}.yaml").write_text(text)
    return Catalogue(folder)
