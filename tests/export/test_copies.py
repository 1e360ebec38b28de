"""What is copied of a run: headline, Markdown, CSV, the command line."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from tests.samples.events import DATA
from tui.export.copies import Copy, copies_of
from tui.export.save import export
from tui.library.load import load_record
from tui.model.exporter import ExportSource
from tui.model.hostspec import expand, split
from tui.record.headline import told_headline

RUNS = DATA.parent / "runs"


def copies(name: str) -> dict[str, Copy]:
    found = copies_of(load_record(RUNS / name), RUNS / name)
    return {copy.label: copy for copy in found}


def test_a_headline_says_figure_profile_hosts_verdict_and_run_in_one_line() -> None:
    record = load_record(RUNS / "plain")
    text = copies("plain")["result in one line"].text
    assert text.startswith(told_headline(record))
    for part in (record.profile.tag, f"on {len(record.hosts)} host", record.run_id):
        assert part in text
    assert "\n" not in text and ", valid, " in text


def test_tables_hold_the_same_figures_as_a_report_and_an_export() -> None:
    found = copies("plain")
    head, rule, *rows = found["table, Markdown"].text.splitlines()[2:]
    assert "| per second |" in head
    assert set(rule) <= set("|:- ")
    assert rows[0].count("|") == head.count("|")
    named, *lines = list(csv.reader(found["table, CSV"].text.splitlines()))
    assert named[0] == "run_id"
    assert {line[0] for line in lines} == {load_record(RUNS / "plain").run_id}


def test_a_copied_csv_has_the_cells_of_an_exported_one(tmp_path: Path) -> None:
    record = load_record(RUNS / "plain")
    written = export(ExportSource(record, RUNS / "plain"), "csv", f"{tmp_path}/")
    (path,) = [each for each in written if each.stem == "summary"]
    text = copies("plain")["table, CSV"].text
    assert list(csv.reader(text.splitlines())) == list(csv.reader(path.read_text().splitlines()))
    assert "false" in text.split(",")


@pytest.mark.parametrize("name", ["plain", "sweep", "mdtest"])
def test_the_command_line_repeats_the_run(name: str) -> None:
    import argparse
    import importlib
    import shlex

    record = load_record(RUNS / name)
    words = shlex.split(copies(name)["command that repeats the run"].text)
    parser = argparse.ArgumentParser()
    importlib.import_module("tui.cli.run").configure(parser)
    args = parser.parse_args(words[2:])
    assert args.profile == record.profile.tag
    named = [name for text in args.hosts for part in split(text) for name in expand(part)]
    assert named == [host.name for host in record.hosts]
    swept = {each.partition("=")[0] for each in args.sweep}
    assert {each.partition("=")[0] for each in args.overrides} | swept >= set(
        record.profile.changed
    )
    assert swept == {
        axis for axis in (record.matrix.axes if record.matrix else []) if axis != "hosts"
    }


def test_every_copy_has_a_key_of_its_own() -> None:
    keys = [copy.key for copy in copies_of(load_record(RUNS / "sweep"), Path("x"))]
    assert len(set(keys)) == len(keys)
