"""What people type is repeated in errors, and steers nothing there."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout, suppress
from io import StringIO
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tui.cli.main import main
from tui.cli.shared.arguments import VERBS
from tui.engine.inputs.hosts import Fleet
from tui.library.filter import KEYS, parse
from tui.model import hostspec
from tui.model.address import HostAddress
from tui.model.problem import Problem, UsageError
from tui.remote.vault import Question
from tui.sources.base import installed_sources

CONTROLS = "\x1b\x07\x9b\x9d\x85\x7f\r\n\b\u202e\u2066\u200f\u061c\u2028\udc9b"
typed = st.text(
    alphabet=st.one_of(st.sampled_from(CONTROLS + "[]-,@:!=~^/ h1"), st.characters()), max_size=30
)
"""Anything; an argument cannot hold a zero byte, which nothing here depends on."""


def said(words: list[str]) -> str:
    """Run a verb in this process and return all that it printed."""
    out = StringIO()
    with redirect_stdout(out), redirect_stderr(out), suppress(SystemExit):
        main(words)
    return out.getvalue()


def assert_printable(text: str) -> None:
    assert [
        line for line in text.splitlines(keepends=True) if not line.removesuffix("\n").isprintable()
    ] == []


NASTY = "\x1b]0;N\x07\x9b1m\u202e\nX"
ECHOED = [
    [NASTY],
    [f"--{NASTY}"],
    ["runs", NASTY],
    ["runs", "show", NASTY],
    ["runs", "show", f"./{NASTY}"],
    ["runs", "list", f"since:{NASTY}"],
    ["runs", "list", NASTY],
    ["runs", "list", f"host:{NASTY}"],
    ["runs", "list", "--sort", NASTY],
    ["runs", "list", "--limit", NASTY],
    ["runs", "list", "--shared", NASTY],
    ["runs", "note", NASTY, NASTY],
    ["run", NASTY],
    ["run", "demo/quick", "--hosts", f"@{NASTY}"],
    ["run", "demo/quick", "--hosts", f"h[{NASTY}"],
    ["run", "demo/quick", "--hosts", "local", "--set", NASTY],
    ["run", "demo/quick", "--hosts", "local", "--set", f"runtime={NASTY}"],
    ["run", "demo/quick", "--hosts", "local", "--set", f"{NASTY}=1"],
    ["run", "demo/quick", "--inventory", NASTY],
    ["hosts", "list", "--inventory", NASTY],
    ["hosts", "check", f"@{NASTY}"],
    ["profiles", "show", NASTY],
    ["profiles", "check", NASTY],
    ["compare", NASTY, NASTY],
    ["compare", "last", "last", "--fail-if", NASTY],
    ["report", NASTY],
    ["export", "last", NASTY],
    ["import", NASTY],
    ["trend", NASTY],
    ["findings", NASTY],
    ["schema", NASTY],
    ["config", "set", NASTY, NASTY],
    ["config", "set", "theme", NASTY],
    ["baselines", "show", NASTY],
    ["completion", NASTY],
    ["attach", NASTY],
    ["stop", NASTY],
    ["clean", NASTY],
    ["capacity", NASTY],
    ["ab", NASTY, "--hosts", f"@{NASTY}"],
    *([verb, f"--{NASTY}"] for verb in VERBS),
    *([verb, NASTY] for verb in VERBS if verb not in ("man", "doctor", "app")),
]


@pytest.mark.parametrize(
    "words", ECHOED, ids=lambda words: "_".join(words).encode("unicode_escape").decode()
)
@pytest.mark.usefixtures("home")
def test_an_error_repeats_what_was_typed_as_printable_text(words: list[str]) -> None:
    assert_printable(said(words))


@pytest.mark.parametrize(
    "verb", [["config"], ["config", "get", "theme"], ["config", "--json"], ["doctor"]]
)
def test_variables_of_the_environment_are_repeated_printably(
    verb: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BENCHTUI_THEME", NASTY)
    monkeypatch.setenv("BENCHTUI_HOME", str(tmp_path / NASTY))
    assert_printable(said(verb))


def test_the_name_of_a_packed_run_is_repeated_printably(home: Path) -> None:
    packed = home / NASTY
    packed.parent.mkdir(parents=True, exist_ok=True)
    packed.write_text("no pack")
    assert_printable(said(["runs", "verify", str(packed)]))


def refused(call: Callable[[], object]) -> Iterator[str]:
    """Yield what is said of what a call refuses."""
    try:
        call()
    except UsageError as error:
        yield from map(str, error.problems)


def named_by(fleet: Fleet, spec: str) -> None:
    """Resolve the parts of a SPEC, but those that would run a command or read a file."""
    for part in hostspec.split(spec):
        if (hostspec.source_of(part) or ("",))[0] not in installed_sources():
            fleet.chooser.part(part, ())


def said_of_hosts(spec: str) -> list[str]:
    """Return what is said of a host spec before any name is looked up."""
    fleet = Fleet(None, Path(os.devnull))
    found = list(refused(lambda: named_by(fleet, spec)))
    return [*found, str(Problem(fleet._unknown(HostAddress(spec))))]


def said_of_filter(text: str) -> list[str]:
    """Return what is said of a filter that is refused."""
    return list(refused(lambda: parse(text)))


@given(typed)
@example("h[1-\x1b]")
def test_a_host_spec_that_is_refused_is_repeated_printably(spec: str) -> None:
    assert [text for text in said_of_hosts(spec) if not text.isprintable()] == []


@given(typed)
@example("since:\x1b")
def test_a_filter_that_is_refused_is_repeated_printably(text: str) -> None:
    assert [said for said in said_of_filter(text) if not said.isprintable()] == []


@pytest.mark.slow
@settings(max_examples=4000)
@given(typed)
def test_no_host_spec_of_thousands_is_repeated_raw(spec: str) -> None:
    assert [text for text in said_of_hosts(spec) if not text.isprintable()] == []


@pytest.mark.slow
@settings(max_examples=2000)
@given(st.sampled_from(("", *(f"{key}:" for key in KEYS))), typed)
def test_no_filter_of_thousands_is_repeated_raw(key: str, text: str) -> None:
    assert [said for said in said_of_filter(key + text) if not said.isprintable()] == []


@given(typed, typed, typed)
def test_a_problem_is_one_printable_line(message: str, file: str, host: str) -> None:
    assert str(Problem(message, file=file, host=host)).isprintable()
    assert str(Problem("x")._replace(message=message)).isprintable()


@given(typed)
def test_what_a_person_is_asked_about_is_named_printably(path: str) -> None:
    assert Question(f"passphrase for {path}", ()).subject.isprintable()
