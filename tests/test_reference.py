"""The reference is what the code says, and the manual page is one."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from tests.patience import PATIENCE_S
from tests.reference import FOLDER, PAGES, page
from tui import __version__
from tui.cli.main import main, verb_module
from tui.cli.man import page as man_page
from tui.cli.shared.arguments import VERBS
from tui.model.schemas import KINDS, made, path_of


@pytest.mark.parametrize("name", PAGES)
def test_a_page_of_the_reference_is_current(name: str) -> None:
    current = (FOLDER / name).read_text(encoding="utf-8")
    assert current == page(name), f"docs/reference/{name} is old: make reference"


@pytest.mark.parametrize("kind", KINDS)
def test_a_schema_that_is_shipped_is_what_its_models_say(kind: str) -> None:
    assert path_of(kind).read_text(encoding="utf-8") == made(kind), (
        f"{path_of(kind)} is old: make reference"
    )


def test_there_are_no_other_pages() -> None:
    assert {path.name for path in FOLDER.iterdir()} == set(PAGES)


def test_the_manual_page_has_every_verb_and_man_has_nothing_to_complain_of() -> None:
    text = man_page(verb_module)
    plain = text.replace("\\-", "-").replace("\\fR", "").replace("\\/", "")
    assert [verb for verb in VERBS if f"benchtui {verb}'" not in plain] == []
    assert text.splitlines()[0].endswith(f'"benchtui {__version__}" "User Commands"')
    assert (
        "benchtui \\- run storage benchmarks on many hosts over SSH from one terminal, and keep"
        " every run\n" in text
    )
    if shutil.which("man"):
        words = ["man", "--warnings", "-l", "-"]
        done = subprocess.run(
            words, input=text, capture_output=True, text=True, timeout=PATIENCE_S, check=True
        )
        assert done.stderr == ""
        assert "EXIT STATUS" in done.stdout


def test_into_a_pipe_the_source_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["man"]) == 0
    assert capsys.readouterr().out.startswith(".TH BENCHTUI")
