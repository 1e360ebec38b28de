"""Every verb that reads runs prints and writes text that controls neither a terminal nor a file
format.
"""

from __future__ import annotations

import argparse
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import pytest

from tests.untrusted.poison import FORGED, Poison
from tests.untrusted.stores import (
    CUT,
    JUDGED,
    OWN,
    SEARCHED,
    SHARED,
    TWIN,
    UNPACKED,
)
from tui.cli import runs as runs_verb
from tui.cli.main import main
from tui.cli.shared.arguments import VERBS
from tui.model.exporter import installed
from tui.model.plain import printable

TAG = printable(Poison().text("test/mix", "profile.tag"))
RUNS = (OWN, JUDGED, CUT, UNPACKED, SHARED, SEARCHED)
OF_RUNS: dict[str, list[list[str]]] = {
    "list": [
        ["list"],
        ["list", "--json"],
        ["list", "tag:lab", "--sort", "profile"],
        ["list", f"{FORGED}:x"],
    ],
    "show": [
        ["show", run, *more]
        for run in RUNS
        for more in ([], ["--json"], ["--plot"], ["--defend"], ["--steps"])
    ],
    "verify": [["verify", *RUNS], ["verify", "--json", *RUNS], ["verify", "{tmp}/packed.benchtui"]],
    "note": [["note", OWN, "\x1b]0;N\x07\u202e"]],
    "star": [["star", OWN], ["star", OWN, "--off"]],
    "tag": [
        ["tag", OWN],
        ["tag", OWN, "new=1"],
        ["tag", OWN, "a\x1b"],
        ["tag", OWN, "--remove", "a\x1b"],
    ],
    "rename": [["rename", OWN, "\x9b1m"], ["rename", OWN, "fine"]],
    "pack": [["pack", OWN, "-o", "{tmp}/again.tar.gz"], ["pack", OWN, "-o", "{tmp}/again.tar.gz"]],
    "unpack": [["unpack", "{tmp}/packed.benchtui"]],
    "recover": [],  # asks hosts
    "resume": [["resume", JUDGED], ["resume", UNPACKED]],
    "prove": [["prove", UNPACKED]],
    "rm": [],  # another name of delete
    "delete": [["delete", OWN], ["delete", SHARED, "--yes"], ["delete", OWN, "--yes"]],
}
READS: dict[str, list[list[str]]] = {
    "runs": [
        ["runs", "--shared", "{shared}", *words] for each in OF_RUNS.values() for words in each
    ],
    "attach": [
        ["attach", run, how]
        for run in (OWN, JUDGED, SHARED, SEARCHED)
        for how in ("--plain", "--json")
    ],
    "stop": [["stop", OWN]],
    "compare": [
        ["compare", "--allow-undecided", *words]
        for words in (
            [TWIN, OWN],
            [TWIN, OWN, "--json"],
            [TWIN, OWN, "--plot"],
            [JUDGED, OWN],
            [SEARCHED, OWN],
        )
    ],
    "noise": [
        ["noise", OWN, TWIN],
        ["compare", "--allow-undecided", TWIN, OWN],
        ["noise", OWN, OWN],
    ],
    "trend": [["trend", TAG, "--like", OWN, *more] for more in ([], ["--json"])]
    + [["trend", "t\x1b"]],
    "export": [
        ["export", run, form, "-o", f"{{tmp}}/out/{run}/{form}/"]
        for run in (OWN, CUT, UNPACKED, SHARED, SEARCHED)
        for form in installed()
    ],
    "report": [
        ["report", run, "-o", f"{{tmp}}/out/{run}.{kind}"]
        for run in RUNS
        for kind in ("html", "md")
    ]
    + [
        ["report", TWIN, OWN, "-o", "{tmp}/out/two.html"],
        ["report", OWN],
        ["report", OWN, "--redact"],
    ],
    "baselines": [["baselines", "compare", OWN]],
}
NO_RUNS = {
    "run",
    "capacity",
    "ab",
    "clean",
    "profiles",
    "hosts",
    "import",
    "findings",
    "schema",
    "config",
}
NO_RUNS |= {"completion", "man", "doctor", "app"}
"""Verbs that read no saved run, or do something to hosts with one."""


def actions() -> set[str]:
    parser = argparse.ArgumentParser()
    runs_verb.configure(parser)
    choices = next(
        each.choices for each in parser._actions if isinstance(each, argparse._SubParsersAction)
    )
    return set(choices)


def test_every_verb_is_tried_or_known_to_read_no_run() -> None:
    assert set(VERBS) == READS.keys() | NO_RUNS
    assert actions() == set(OF_RUNS)


def controls(text: str) -> list[str]:
    """Return the lines with a character that is not printable, and those that a field forged."""
    return [
        line
        for line in text.split("\n")
        if not line.replace("\t", " ").isprintable() or line.startswith(FORGED)
    ]


def texts_of(path: Path) -> Iterator[str]:
    """Yield the text of what was written: of a workbook its parts, of a column file every value."""
    if path.suffix == ".xlsx":
        with zipfile.ZipFile(path) as book:
            yield from (book.read(name).decode().replace("\r\n", "\n") for name in book.namelist())
    elif path.suffix == ".parquet":
        import pyarrow.parquet as pq

        yield "\n".join(
            str(value) for row in pq.read_table(path).to_pylist() for value in row.values()
        )
    elif path.suffix not in (".gz", ".benchtui"):
        yield path.read_bytes().decode().replace("\r\n", "\n")


@pytest.mark.parametrize("verb", READS)
def test_what_a_verb_says_of_poisoned_runs_is_printable(
    verb: str,
    shared: Path,
    tmp_path: Path,
    capfdbinary: pytest.CaptureFixture[bytes],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("BENCHTUI_SHARED_RUNS", str(shared))
    (tmp_path / "out").mkdir()
    bad: list[object] = []
    codes = []
    for words in READS[verb]:
        filled = [
            word.replace("{tmp}", str(tmp_path)).replace("{shared}", str(shared)) for word in words
        ]
        if filled[-1:] and verb == "export":
            Path(filled[-1]).mkdir(parents=True)
        codes.append(ended(filled))
        captured = capfdbinary.readouterr()
        bad += [
            (words, line)
            for part in (captured.out, captured.err)
            for line in controls(part.decode())
        ]
    for path in (tmp_path / "out").rglob("*"):
        if path.is_file():
            bad += [(path.name, line[:200]) for text in texts_of(path) for line in controls(text)]
    assert bad == []
    assert codes.count(0) > len(codes) / 2 or verb == "stop", "what is refused shows little"


def ended(words: Sequence[str]) -> int:
    """Run a verb and return its exit code; argparse ends by an exception."""
    with suppress(SystemExit):
        return main(words)
    return 2
