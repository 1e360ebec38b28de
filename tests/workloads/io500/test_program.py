"""IO500 from the profile to its ini file, and the reader of what mpiexec prints of it."""

from __future__ import annotations

import re
from configparser import ConfigParser
from pathlib import Path

import pytest

from tests.samples.words import said, texts
from tui.cli.shared.review import review_text
from tui.engine.inputs.profiles import Catalogue
from tui.engine.plan.plan import Choices, build_plan
from tui.model.address import HostAddress
from tui.model.event import ALL_OVER, MetadataPhase
from tui.model.problem import UsageError
from tui.workloads.io500.output import PHASES
from tui.workloads.io500.program import Io500Program
from tui.workloads.mpi import RanksReader

DATA = Path(__file__).parents[2] / "data" / "io500"


def program(
    tmp_path: Path, profile: str = "io500/trial", keys: str = "", **params: str
) -> Io500Program:
    path = tmp_path / "own.yaml"
    own = f"io500: {{{keys}}}\n" if keys else ""
    path.write_text(f"profile: user/own\nversion: 1\nextends: {profile}\n{own}")
    step = build_plan(
        Catalogue(tmp_path).load(str(path)), Choices([HostAddress("h1")], params)
    ).steps[0]
    assert step.mpi is not None
    return Io500Program(step, step.mpi)


def ini(made: Io500Program) -> dict[str, dict[str, str]]:
    (text,) = made.files("/d/run/0").values()
    parser = ConfigParser()
    parser.read_string(text)
    return {name: dict(parser[name]) for name in parser.sections()}


def test_a_dry_run_shows_the_ini_file_once(tmp_path: Path) -> None:
    hosts = [HostAddress(name) for name in ("h1", "h2", "h3")]
    text = review_text(build_plan(Catalogue(tmp_path).load("io500/trial"), Choices(hosts, {})))
    assert (text.count("[mdtest-hard]"), text.count("| same as on h1")) == (1, 2)


def reader(tmp_path: Path, text: bytes, **params: str) -> tuple[RanksReader, list[str]]:
    found = program(tmp_path, **params).reader(1)
    items = [
        item for start in range(0, len(text), 99) for item in found.feed(text[start : start + 99])
    ]
    return found, [
        item.phase for item in [*items, *found.flush()] if isinstance(item, MetadataPhase)
    ]


def test_the_standard_run_changes_nothing_but_places(tmp_path: Path) -> None:
    assert ini(program(tmp_path, "io500/standard")) == {
        "global": {
            "datadir": "/d/run/0/data",
            "resultdir": "/d/run/0/benchtui-reports",
            "timestamp-datadir": "FALSE",
            "timestamp-resultdir": "FALSE",
        },
        "debug": {"stonewall-time": "300"},
    }


def test_phases_settings_and_caches_are_in_the_ini_file(tmp_path: Path) -> None:
    made = ini(program(tmp_path, skip="find, ior-rnd4K-easy-read", stonewall="5"))
    assert made["find"] == made["ior-rnd4K-easy-read"] == {"run": "FALSE"}
    assert ini(program(tmp_path, keys="drop_caches: true"))["global"]["drop-caches"] == "TRUE"
    assert made["debug"] == {"stonewall-time": "5"}
    assert made["ior-easy"] == {"blocksize": "32m"}


@pytest.mark.parametrize(
    ("keys", "params", "message"),
    [
        (
            "",
            {"skip": "ior-easy-wirte"},
            "'ior-easy-wirte' is not a phase (did you mean 'ior-easy-write'?)",
        ),
        (
            "",
            {"stonewall": "0"},
            "io500.stonewall: '0' is not a whole number of seconds from 1 to 86400",
        ),
        (
            "settings: {global.datadir: /x}",
            {},
            "global.datadir is not allowed here; set it with directory",
        ),
        ("settings: {find.external-script: /x}", {}, "it can run any command on the first host"),
        ("settings: {find.run: FALSE}", {}, "find.run is not allowed here; set it with skip"),
        ("settings: {blockSize: 1m}", {}, "'blockSize' is not a setting; expected SECTION.KEY"),
        (
            "settings: {Global.DataDir: /x}",
            {},
            "global.datadir is not allowed here; set it with directory",
        ),
        ("settings: {FIND.External-Script: /x}", {}, "it can run any command on the first host"),
        ("settings: {Find.Run: FALSE}", {}, "Find.Run is not allowed here; set it with skip"),
    ],
)
def test_what_cannot_be_is_refused_by_name(
    tmp_path: Path, keys: str, params: dict[str, str], message: str
) -> None:
    with pytest.raises(UsageError, match=re.escape(message)):
        program(tmp_path, keys=keys, **params)


def test_a_setting_in_another_case_is_the_same_setting(tmp_path: Path) -> None:
    made = program(tmp_path, keys="settings: {IOR-Easy.TransferSize: 1m, IOR-Easy.BlockSize: 8m}")
    assert ini(made)["ior-easy"] == {"transfersize": "1m", "blocksize": "8m"}
    assert ini(made.trial())["ior-easy"] == {"transfersize": "64k", "blocksize": "64k"}
    found = made.reader(1)
    found.feed((DATA / "short.out").read_bytes())
    result = found.figures(0)
    assert result is not None and result.operations["ior-easy-write"].bytes_per_op == 1 << 20


def test_phases_are_live_as_they_are_printed(tmp_path: Path) -> None:
    found, phases = reader(tmp_path, (DATA / "short.out").read_bytes())
    assert phases == [*PHASES, ALL_OVER] and found.problems(0) == []
    result = found.figures(0)
    assert result is not None and result.final and result.tasks == 2


def test_an_output_that_breaks_off_keeps_what_ended(tmp_path: Path) -> None:
    text = (DATA / "short.out").read_bytes()
    found, phases = reader(tmp_path, text[: text.index(b"[RESULT]                 find")])
    assert phases[-2:] == ["find", ALL_OVER]
    result = found.figures(None)
    assert result is not None and list(result.operations) == list(PHASES[:4]) and not result.final
    assert texts("io500", found.problems(137))[0] == (
        "io500-exit-code",
        "mpiexec was killed by signal 9",
    )


def test_ranks_that_do_not_know_each_other_are_known_at_once(tmp_path: Path) -> None:
    text = (DATA / "short.out").read_bytes()
    title = text[: text.index(b"\n") + 1]
    found, _ = reader(tmp_path, title + title)
    assert "built for a different MPI" in said("io500", found.wrong_launch)


def test_a_fatal_message_is_the_cause(tmp_path: Path) -> None:
    found, _ = reader(tmp_path, b"FATAL (src/ini-parse.c:26) Cannot open config file nope.ini\n")
    assert texts("io500", found.problems(1))[0] == (
        "io500-fatal",
        "IO500 gave up: Cannot open config file nope.ini",
    )
