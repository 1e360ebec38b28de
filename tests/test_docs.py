"""What the documents say can be typed, clicked and found."""

from __future__ import annotations

import argparse
import re
import shlex
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from tui.cli.main import verb_module
from tui.engine.inputs.profiles import Catalogue

ROOT = Path(__file__).parent.parent
READMES = (ROOT / "tests" / "README.md", ROOT / "tests" / "long" / "README.md")
DOCUMENTS = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md")), *READMES]


def commands(document: Path) -> Iterator[str]:
    """The benchtui command lines in indented blocks."""
    for line in document.read_text().splitlines():
        if line.startswith("    benchtui"):
            # what follows explains it, or is another program
            said = re.split(r" {3,}|  #| \| ", line.strip())[0]
            yield from (part.strip() for part in said.split(";"))


ALL_COMMANDS = sorted({command for document in DOCUMENTS for command in commands(document)})


def parser_of(words: list[str]) -> tuple[argparse.ArgumentParser, list[str]]:
    """The parser of a command line's verb, and the rest of the words."""
    verb, rest = (words[0], words[1:]) if words and not words[0].startswith("-") else ("app", words)
    module = verb_module(verb)
    parser = argparse.ArgumentParser(prog=f"benchtui {verb}")
    module.configure(parser)
    return parser, rest


@pytest.mark.parametrize("command", ALL_COMMANDS)
def test_every_command_line_in_the_documents_is_accepted(command: str) -> None:
    words = [word for word in shlex.split(re.sub(r"[<>] \S+", "", command))[1:] if word != "..."]
    parser, rest = parser_of(words)
    parser.parse_args(rest)


def test_the_documents_have_command_lines() -> None:
    assert len(ALL_COMMANDS) > 15


def test_profiles_in_the_documents_exist(tmp_path: Path) -> None:
    known = set(Catalogue(tmp_path).names())
    families = {name.partition("/")[0] for name in known}
    named = {name for line in ALL_COMMANDS for name in re.findall(r"\b([a-z]+/[a-z0-9-]+)", line)}
    assert {name for name in named if name.partition("/")[0] in families} <= known
    assert "weka/read-iops" in named


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_links_lead_somewhere(document: Path) -> None:
    targets = re.findall(r"\]\(([^)#:]+?)(?:#[^)]*)?\)", document.read_text())
    assert [target for target in targets if not (document.parent / target).exists()] == []
    docs = ROOT / "docs"
    if docs in document.parents:  # pages of the site, which has nothing else
        assert [
            target
            for target in targets
            if not (document.parent / target).resolve().is_relative_to(docs)
        ] == []


def headings(page: Path) -> set[str]:
    """The anchors of a page, as GitHub and the site make them."""
    lines = re.sub(
        r"^ *```.*?^ *```", "", page.read_text(), flags=re.DOTALL | re.MULTILINE
    ).splitlines()
    titles = [re.sub(r"^#+ ", "", line) for line in lines if re.match(r"#+ ", line)]
    return {re.sub(r" ", "-", re.sub(r"[^\w\- ]", "", title.lower()).strip()) for title in titles}


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_links_into_a_page_lead_to_a_heading(document: Path) -> None:
    links = re.findall(r"\]\(([^)#:]*)#([^)]+)\)", document.read_text())
    wrong = [
        (page, at)
        for page, at in links
        if at not in headings(document.parent / page if page else document)
    ]
    assert wrong == []


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_paths_of_the_repository_exist(document: Path) -> None:
    """Decisions are about the tree of their day."""
    if document.parent.name != "decisions":
        named = re.findall(
            r"`((?:tui|tests|profiles|docs|\.ci)/[a-z0-9_./-]*)`", document.read_text()
        )
        # made by the wheel
        assert {path for path in named if not (ROOT / path).exists()} <= {"tui/presets"}


def test_every_page_is_in_the_navigation_once() -> None:
    docs = ROOT / "docs"
    named = re.findall(
        r"^ +- (?:.*: )?([\w/-]+\.md)$", (ROOT / "mkdocs.yml").read_text(), re.MULTILINE
    )
    pages = [str(page.relative_to(docs)) for page in docs.rglob("*.md")]
    assert sorted(named) == sorted(
        page for page in pages if not re.match(r"decisions/(?!README)", page)
    )


def test_the_generator_of_the_site_is_installed_by_what_pip_takes() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"][
        "optional-dependencies"
    ]
    named = re.findall(r"pip install .*'(.*?)'", (ROOT / "Makefile").read_text())
    assert named
    assert set(named) <= {f".[{extra}]" for extra in extras}
