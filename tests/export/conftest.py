"""Records that are exported: recorded ones, opened once."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.export.endpoint import Endpoint, serving
from tui.export.save import source_of
from tui.model.exporter import ExportSource

RUNS = Path(__file__).parents[1] / "data" / "runs"
JOURNALS = Path(__file__).parents[1] / "data" / "journals"


@pytest.fixture(scope="session")
def plain() -> ExportSource:
    """Two hosts, random reads and writes."""
    return source_of(RUNS / "plain")


@pytest.fixture(scope="session")
def sweep() -> ExportSource:
    """Two points that differ in block size."""
    return source_of(RUNS / "sweep")


@pytest.fixture(scope="session")
def metadata() -> ExportSource:
    """A run of mdtest."""
    return source_of(RUNS / "mdtest")


@pytest.fixture
def fio_plot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], bytes]:
    """Run fio-plot, the one from PyPI, in an empty directory; return the picture that it draws."""
    monkeypatch.setenv("MPLBACKEND", "Agg")
    monkeypatch.chdir(tmp_path)
    from fio_plot import main

    def draw(arguments: str) -> bytes:
        monkeypatch.setattr(
            "sys.argv",
            ["fio-plot", *shlex.split(arguments), "-T", "a title", "-o", "out.png", "-D", "60"],
        )
        with pytest.raises(SystemExit) as end:
            main()
        assert not end.value.code
        return (tmp_path / "out.png").read_bytes()

    return draw


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    """An address that takes what is pushed."""
    with serving() as found:
        yield found
