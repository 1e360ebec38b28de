"""Every kind of SPEC, mistyped in every simple way: hosts, or one line that quotes what is wrong
and names what was meant.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tui.engine.inputs import hosts
from tui.engine.inputs.hosts import Fleet
from tui.model.inventory import load_inventory
from tui.model.problem import UsageError
from tui.sources.base import SourceContext

INVENTORY = """
hosts:
  node-[01-04]: {groups: [clients]}
  head: {address: 127.0.0.9}
groups:
  racked: ["node-[01-03/2]"]
  printed: {from: "command:echo node-02"}
"""
MEANT = {  # a SPEC, and the words of it that can be mistyped
    "node-03": ("node-03",),
    "node-[01-04]": (),
    "node-{01..04}": (),
    "bench@head:22": ("head",),
    "local": ("local",),
    "@clients": ("clients",),
    "@racked,!node-01": ("racked", "node-01"),
    "@printed": ("printed",),
    "file:names": ("file", "names"),
    "ansible:hosts.ini:web": ("ansible", "hosts.ini", "web"),
    "slurm:4711": ("slurm",),
    "slurm:4711,via=ssh": ("slurm", "via", "ssh"),
    "slurm:@io,nodes=4,time=20m": ("slurm", "nodes", "time"),
    "k8s:storage/app=bench": ("k8s",),
    "command:echo node-02": ("command",),
}
KNOWN = ("node-01", "node-02", "node-03", "node-04")  # one digit away from each other
WRONG = "x0:@/,;=! ."


@pytest.fixture
def fleet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Fleet:
    """Names are not looked up in DNS; Slurm and Kubernetes are not installed."""
    (tmp_path / "names").write_text("node-01\nhead\n")
    (tmp_path / "hosts.ini").write_text("[web]\nw1\nw2\n[data]\nd1\n")
    monkeypatch.setattr(hosts, "resolvable", lambda _: False)
    context = SourceContext({"PATH": str(tmp_path)}, tmp_path, may_allocate=True)
    return Fleet(load_inventory(INVENTORY, "inventory.yaml"), Path(os.devnull), context)


def edits(text: str, letters: str) -> Iterator[str]:
    """Yield a text with one character left out, doubled, swapped, replaced or added."""
    for at in range(len(text)):
        begin, here, rest = text[:at], text[at], text[at + 1 :]
        yield begin + rest
        yield begin + here + here + rest
        yield begin + rest[:1] + here + rest[1:]
        yield from (begin + letter + rest for letter in letters)
        yield from (begin + letter + here + rest for letter in letters)


def mistyped(spec: str) -> Iterator[str]:
    """Yield a SPEC with one edit, cut, in the wrong case, and with other separators."""
    yield from edits(spec, WRONG)
    yield from (spec[:at] for at in range(len(spec)))
    yield from (spec.upper(), spec.capitalize(), f"{spec},", f",{spec}", f"{spec},!", f"!{spec}")
    yield from (f"{spec}@", f"@{spec}", f"{spec}:", f"{spec},,head")
    for old in ":,@/=-":
        yield from (spec.replace(old, new) for new in ("", " ", ";", old * 2))


def told(fleet: Fleet, spec: str) -> list[str]:
    """Return what is said of a SPEC, nothing when it names hosts."""
    try:
        found = fleet.resolve([spec])
    except UsageError as error:
        assert error.problems
        return [str(problem) for problem in error.problems]
    assert found
    return []


def repeated(line: str) -> Iterator[str]:
    """Yield what a line repeats of the SPEC: what is in quotes, and its own begin."""
    begin = re.split(r": | excludes none| excludes hosts| names no", line, maxsplit=1)[0]
    for text in (*re.findall(r"'([^']+)'", line), begin, Path(begin).name):
        yield text.replace(" ", "")


@pytest.mark.parametrize("spec", MEANT)
def test_what_is_mistyped_names_hosts_or_is_quoted_in_one_line(fleet: Fleet, spec: str) -> None:
    # no mistyped shell command is run
    wrong = [each for each in mistyped(spec) if not each.strip("! ").startswith("command:")]
    for each in dict.fromkeys(wrong):
        for line in told(fleet, each):
            assert line.isprintable(), each
            assert "''" not in line, f"{each}: nothing is quoted: {line}"
            assert any(map(each.replace(" ", "").__contains__, repeated(line))) or (
                not each.strip() or "unknown host" in line  # of a range: the first name
            ), f"{each}: {line}"


@pytest.mark.parametrize(
    ("spec", "word"), [(spec, word) for spec, words in MEANT.items() for word in words]
)
def test_a_word_that_is_one_slip_away_from_a_known_one_is_suggested(
    fleet: Fleet, spec: str, word: str
) -> None:
    before, _, after = spec.partition(word)
    for wrong in dict.fromkeys([*edits(word, "xz"), word.upper()]):
        if wrong.casefold() in (word, *KNOWN):
            continue
        lines = told(fleet, before + wrong + after)
        assert lines, f"{wrong} names hosts"
        meant = re.findall(r"did you mean ([^?]+)\?", lines[0])
        assert meant and word in meant[0], f"{before + wrong + after}: {lines[0]}"


@pytest.mark.parametrize(("typed", "meant"), [("slurm4711", "'slurm:4711'"), ("slurmio", "")])
def test_a_number_after_the_name_of_a_source_suggests_its_colon(
    fleet: Fleet, typed: str, meant: str
) -> None:
    (line,) = told(fleet, typed)
    assert bool(meant) is ("did you mean" in line)
    assert meant in line
