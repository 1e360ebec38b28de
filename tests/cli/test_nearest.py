"""What a mistyped word is answered with: one line on stderr, exit 2, and the name that was
meant.
"""

from __future__ import annotations

import argparse
import io
import shutil
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.samples.events import DATA
from tui.cli.main import main, verb_module
from tui.cli.shared.arguments import VERBS, parser_with, verbs_of
from tui.judge.catalogue import BY_ID
from tui.library.build import write_record
from tui.library.filter import KEYS, STATES, VERDICTS
from tui.model.criteria import METRICS
from tui.model.exporter import installed
from tui.model.problem import MOST_MEANT, nearest, one_edit_apart
from tui.model.settings import NAMES

LETTERS = "abcdefghijklmnopqrstuvwxyz"
RUN = "20261118T080000Z-test-mix-0001"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A user with one saved run of two hosts, an inventory with a group, and no settings."""
    home = tmp_path_factory.mktemp("home")
    shutil.copytree(DATA / "mix", home / "runs" / RUN)
    write_record(home / "runs" / RUN)
    (home / "inventory.yaml").write_text(
        "hosts:\n  alpha: {address: 127.0.0.1}\ngroups:\n  clients: [alpha]\n"
    )
    (home / "empty-ssh").write_text("")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BENCHTUI_HOME", str(home))
        yield home


@cache
def parsers() -> dict[tuple[str, ...], argparse.ArgumentParser]:
    """Every parser below `benchtui`, by its words; the screens' own by none."""
    found: dict[tuple[str, ...], argparse.ArgumentParser] = {}

    def add(words: tuple[str, ...], parser: argparse.ArgumentParser) -> None:
        found[words] = parser
        for name, below in verbs_of(parser).items():
            add((*words, name), below)

    for verb, parser in verbs_of(parser_with(verb_module, VERBS)).items():
        add((verb,) if verb != "app" else (), parser)
    return found


def options() -> list[tuple[tuple[str, ...], str]]:
    """Every long option with the verb it belongs to."""
    return [(words, name) for words,
        parser in parsers().items() for name in sorted(parser._option_string_actions)
            if name.startswith("--")]  # fmt: skip


def choices() -> list[tuple[tuple[str, ...], str]]:
    """Every sub-verb, and every value of an argument or option that takes one of a list, with the
    words before it.
    """
    found: list[tuple[tuple[str, ...], str]] = []
    for words, parser in parsers().items():
        for action in parser._actions:
            if action.choices is not None:
                before = (*words, action.option_strings[-1]) if action.option_strings else words
                found += [(before, str(each)) for each in action.choices]
    return found


@st.composite
def mistyped(draw: st.DrawFn, name: str) -> str:
    """A name after one edit: a letter added, left out, replaced, or swapped with the next one."""
    dashes = len(name) - len(name.lstrip("-"))
    at = draw(st.integers(dashes, len(name) - 1))
    letter = draw(st.sampled_from(LETTERS))
    return draw(st.sampled_from([
        name[:at] + letter + name[at:], name[:at] + name[at + 1 :],
        name[:at] + letter + name[at + 1 :],
        name[:at] + name[at : at + 2][::-1] + name[at + 2 :],
    ]))  # fmt: skip


def said(words: list[str]) -> str:
    """What the command prints on stderr; it ends with 2, in one line, and prints nothing else."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        try:
            code: object = main(words)
        except SystemExit as end:
            code = end.code
    assert (code, out.getvalue(), err.getvalue().count("\n")) == (2, "", 1), (
        words,
        code,
        out,
        err.getvalue(),
    )
    return err.getvalue()


@given(st.data())
def test_a_verb_with_a_typo_is_named(data: st.DataObject) -> None:
    verb = data.draw(st.sampled_from(sorted(VERBS)))
    wrong = data.draw(
        mistyped(verb).filter(lambda word: word and word not in {*VERBS, "engine", "help"})
    )
    assert f"'{verb}'" in said([wrong])


@given(st.data())
def test_an_option_with_a_typo_is_named(data: st.DataObject) -> None:
    words, name = data.draw(st.sampled_from(options()))
    known = parsers()[words]._option_string_actions
    wrong = data.draw(mistyped(name).filter(lambda word: word not in known and word != "--version"))
    assert f"'{name}'" in said([*words, wrong])


@pytest.mark.parametrize(("words", "name"), options())
def test_an_option_is_never_abbreviated(words: tuple[str, ...], name: str) -> None:
    short = name[:-1]
    if short not in (*parsers()[words]._option_string_actions, "--"):
        assert "unknown option" in said([*words, short])


@given(st.data())
def test_a_choice_with_a_typo_is_named(data: st.DataObject) -> None:
    words, name = data.draw(st.sampled_from(choices()))
    known = [each for before, each in choices() if before == words]
    wrong = data.draw(mistyped(name).filter(lambda word: word and word not in known))
    assert f"'{name}'" in said([*words, wrong])


NAMED: dict[str, tuple[Callable[[str], list[str]], list[str]]] = {
    "run": (lambda name: ["runs", "show", name], [RUN, "last"]),
    "host": (lambda name: ["hosts", "list", name, "--ssh-config", "{home}/empty-ssh"],
        ["alpha", "local"]),
    "group": (lambda name: ["hosts", "list", f"@{name}"], ["clients"]),
    "profile": (lambda name: ["run", name, "--hosts", "local", "--dry-run"],
        ["demo/quick", "weka/read-iops"]),
    "profile shown": (lambda name: ["profiles", "show", name], ["demo/quick"]),
    "profile with runs": (lambda name: ["trend", name], ["test/mix", "weka/read-iops"]),
    "parameter": (lambda name: ["run", "demo/quick", "--hosts", "local", "--dry-run", "--set",
        f"{name}=1"],
                  ["runtime", "numjobs", "directory"]),
    "metric": (lambda name: ["compare", RUN, "{home}", "--fail-if", f"{name} < -5%"],
        ["iops", "bandwidth"]),
    "format": (lambda name: ["export", RUN, name], sorted(installed())),
    "streamed format": (lambda name: ["run", "demo/quick", "--hosts", "local", "--stream", name],
        ["jsonl"]),
    "finding": (lambda name: ["findings", name],
        [each for each in BY_ID if not each.startswith("V")]),
    "filter key": (lambda name: ["runs", "list", f"{name}:x"], list(KEYS)),
    "verdict": (lambda name: ["runs", "list", f"verdict:{name}"], list(VERDICTS)),
    "state": (lambda name: ["runs", "list", f"state:{name}"], list(STATES)),
    "order": (lambda name: ["runs", "list", "--sort", name], ["headline", "profile", "verdict"]),
    "setting": (lambda name: ["config", "set", name, "x"], list(NAMES)),
    "theme": (lambda name: ["config", "set", "theme", name], ["dark", "light", "ansi"]),
    "tag": (lambda name: ["runs", "tag", RUN, "--remove", name], ["lab"]),
    "run with a tag": (lambda name: ["runs", "show", f"tag:{name}"], ["lab"]),
    "load generator": (lambda name: ["profiles", "import", "{home}/inventory.yaml", "--tool", name],
        ["mdtest"]),
}  # fmt: skip


@pytest.mark.parametrize("kind", NAMED)
@given(data=st.data())
def test_a_name_with_a_typo_is_named(kind: str, home: Path, data: st.DataObject) -> None:
    command, names = NAMED[kind]
    name = data.draw(st.sampled_from(names))
    every = (
        {*names, *VERDICTS, *STATES, *KEYS, *METRICS} if kind not in ("run", "host") else set(names)
    )
    wrong = data.draw(
        mistyped(name).filter(
            lambda word: len(word) > 1 and word not in every and not RUN.startswith(word)
        )
    )
    words = [word.replace("{home}", str(home)) for word in command(wrong)]
    assert f"{name}'" in said(words)


@given(
    st.text(LETTERS, min_size=1, max_size=8),
    st.lists(st.text(LETTERS, min_size=1, max_size=8), max_size=20),
)
def test_all_names_one_edit_away_come_before_those_that_are_only_alike(
    name: str, known: list[str]
) -> None:
    found = nearest(name, known)
    close = [each for each in dict.fromkeys(known) if one_edit_apart(name, each)]
    assert set(found) <= set(close or known)
    assert len(found) == min(len(close), MOST_MEANT) if close else len(found) <= 1


@given(st.data())
def test_one_edit_is_one_edit(data: st.DataObject) -> None:
    name = data.draw(st.text("ab-", min_size=1, max_size=6))
    wrong = data.draw(mistyped(name)) if name.strip("-") else name
    assert one_edit_apart(name, wrong)
    assert one_edit_apart(wrong, name)
    assert not one_edit_apart(name, f"{name}xy")


@pytest.mark.parametrize(
    ("typed", "meant"), [("JSON", "json"), ("Weka/Read-Iops", "weka/read-iops")]
)
def test_upper_and_lower_case_are_the_same(typed: str, meant: str) -> None:
    assert nearest(typed, ["other", meant]) == [meant]
