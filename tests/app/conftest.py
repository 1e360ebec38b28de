"""What tests of the app share: style sheets parsed once, engines forked from a process that has
their modules.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import textual.app
import textual.pilot
from textual.css.stylesheet import Stylesheet

from tests.app.quiet import quiet
from tests.e2e import forked
from tui.app.app import BenchtuiApp
from tui.engine import launch


@pytest.fixture(autouse=True)
def forked_engines(monkeypatch: pytest.MonkeyPatch) -> None:
    """Engines are processes of their own, as always, but need not load what others have loaded."""
    monkeypatch.setattr(launch, "start_program", forked.start_program)


@pytest.fixture
def no_suspend(monkeypatch: pytest.MonkeyPatch) -> None:
    """A test has no terminal to give away; the editor runs for real."""

    @contextmanager
    def suspend(self: BenchtuiApp) -> Iterator[None]:
        yield

    monkeypatch.setattr(BenchtuiApp, "suspend", suspend)


@pytest.fixture(scope="session")
def empty_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home directory with nothing in it."""
    return tmp_path_factory.mktemp("nobody")


@pytest.fixture(autouse=True)
def home_of_nobody(empty_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Hosts and keys of whoever runs the tests are none of theirs."""
    monkeypatch.setenv("HOME", str(empty_home))


@pytest.fixture(scope="session", autouse=True)
def idle_when_quiet() -> Iterator[None]:
    """A key is done when the event loop has nothing more to do, not when the process used no CPU
    for a while.
    """
    with pytest.MonkeyPatch.context() as patch:
        for module in (textual.app, textual.pilot):
            patch.setattr(module, "wait_for_idle", quiet)
        patch.setattr(textual.pilot.Pilot, "_wait_for_screen", quiet)
        yield


@pytest.fixture(scope="session", autouse=True)
def sheets_parsed_once() -> Iterator[None]:
    """Rules come of the text and the colours alone: the next app of this process may have those of
    the one before.
    """
    parse, known = Stylesheet._parse_rules, dict[tuple[object, ...], Any]()

    def parse_once(sheet: Stylesheet, css: str, **source: Any) -> Any:
        key = (css, *source.items(), frozenset(sheet._variables.items()))
        if key not in known:
            known[key] = parse(sheet, css, **source)
        return known[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Stylesheet, "_parse_rules", parse_once)
        yield
