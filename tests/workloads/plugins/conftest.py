"""ddsync, the example of a load generator of another package, for tests in this process."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tui.testing.replay import standing_in

PACKAGE = Path(__file__).parents[2] / "generators" / "ddsync"


@pytest.fixture(scope="session")
def ddsync() -> Iterator[Any]:
    """The module of the example, imported from its folder."""
    sys.path.insert(0, str(PACKAGE))
    try:
        from benchtui_ddsync import workload  # type: ignore[import-not-found]

        yield workload
    finally:
        sys.path.remove(str(PACKAGE))


@pytest.fixture
def known(ddsync: Any) -> Iterator[Any]:
    """The class of the example, while it is found by its name."""
    with standing_in(ddsync.DdSync):
        yield ddsync.DdSync
