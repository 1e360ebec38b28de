"""What files hold is sampled before a step that reads and after one that writes.

Random data is no finding.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.lab.course import LOAD, course
from tests.lab.sshd import SshdLab
from tests.samples.evidence import evidence, found
from tui.engine.run.run import execute
from tui.judge.check import UnknownError
from tui.library.build import build_record
from tui.model.host_tables import Content, rows
from tui.model.plan import JobLoad
from tui.model.record import RunRecord

MIB = 1 << 20
WRITES = "{rw: write, bs: 64k, "


async def run_of(home: Path, lab: SshdLab, profile: Path) -> RunRecord:
    async with course(home, lab, "1s", hosts=1, profile=profile) as run:
        end = await execute(run.ctx)
    assert end.state == "complete", run.events("host_problem")
    return build_record(run.ctx.run_dir)


def contents(record: RunRecord) -> list[Content]:
    return rows(record.hosts[0].facts, Content)


def reported(record: RunRecord) -> list[str]:
    return [
        each.id
        for each in record.findings
        if each.id in ("content", "reducible-data") and each.severity != "info"
    ]


@pytest.mark.e2e
async def test_what_the_load_generator_lays_out_and_writes_by_itself_is_data(
    home: Path, lab: SshdLab
) -> None:
    mixed = home / "mixed.yaml"
    mixed.write_text(LOAD.read_text().replace("{rw: randread, bs: 4k,", "{rw: randrw, bs: 64k,"))
    record = await run_of(home, lab, mixed)
    assert [
        (row.step, row.kind, row.blocks, row.zero, row.distinct) for row in contents(record)
    ] == [
        (0, "read", 16, 0, 16),
        (0, "written", 16, 0, 16),
    ]
    assert reported(record) == []


@pytest.mark.e2e
async def test_a_file_of_zeros_is_reported_and_one_that_says_so_itself_is_reported_once(
    home: Path, lab: SshdLab
) -> None:
    (home / "h1").mkdir()
    (home / "h1" / "load.0.0").write_bytes(bytes(4 * MIB))
    reads = home / "reads.yaml"
    reads.write_text(LOAD.read_text().replace("layout: true", "layout: false"))
    record = await run_of(home, lab, reads)
    assert reported(record) == ["content"]
    (home / "h1" / "load.0.0").unlink()
    alike = "global: {scramble_buffers: 0, "
    writes = home / "writes.yaml"
    text = LOAD.read_text().replace("{rw: randread, bs: 4k, ", WRITES).replace("global: {", alike)
    text = text.replace("default: 10,", "default: 60,")  # most blocks are written within its time
    writes.write_text(text.replace("direction: read", "direction: write"))
    record = await run_of(home, lab, writes)
    (row,) = contents(record)
    assert row.distinct < row.blocks / 2
    assert reported(record) == ["reducible-data"]


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({"kind": "read", "distinct": 16, "packed": 1.0}, 0),
        ({"kind": "read", "zero": 16}, 1),
        ({"kind": "read", "zero": 9, "distinct": 7, "packed": 1.0}, 1),
        ({"kind": "read", "zero": 7, "distinct": 9, "packed": 1.0}, 0),
        ({"kind": "read", "distinct": 7, "packed": 1.0}, 1),
        ({"kind": "read", "distinct": 16, "packed": 0.4}, 1),
        ({"kind": "written", "zero": 16}, 0),  # where it has not written, it may be a hole
        ({"kind": "written", "zero": 16, "never_written": 0.01}, 1),
        ({"kind": "written", "zero": 12, "distinct": 4, "never_written": 0.6}, 0),
        ({"kind": "written", "distinct": 16, "packed": 1.0, "row": 1.0, "apart": 1.0}, 0),
        ({"kind": "written", "distinct": 1, "packed": 1.0}, 1),
        ({"kind": "written", "distinct": 16, "packed": 0.3}, 1),
    ],
)
def test_zeros_copies_and_what_gzip_packs_are_reported(row: dict[str, object], said: int) -> None:
    job = JobLoad("j", ("read", "write"))
    facts = {"content": [{"step": 0, "blocks": 16, **row}]}
    assert len(found("content", evidence(jobs=[job], facts=facts))) == said
    named = evidence(jobs=[JobLoad("j", ("write",), reducible="zero_buffers=1")], facts=facts)
    assert len(found("content", named)) == (said if row["kind"] == "read" else 0)


@pytest.mark.parametrize(("shares", "severity"), [
    ({"row": 0.1, "apart": 1.0}, ["info"]), ({"row": 1.0, "apart": 0.1}, ["info"]), ({}, []),
])  # fmt: skip
def test_blocks_that_resemble_each_other_are_a_note(
    shares: dict[str, float], severity: list[str]
) -> None:
    row = {"step": 0, "kind": "written", "blocks": 16, "distinct": 16, "packed": 0.98, **shares}
    result = found("content", evidence(jobs=[JobLoad("j", ("write",))], facts={"content": [row]}))
    assert [each.severity for each in result] == severity


WRITTEN = {"step": 0, "files": 1, "size_bytes": 65536, "never_written_bytes": 0}


@pytest.mark.parametrize(
    ("zeros", "written", "severity"),
    [(16, [], "error"), (15, [], "warning"), (16, [WRITTEN], "warning")],
)
def test_only_zeros_where_nothing_shows_that_they_were_written_are_an_error(
    zeros: int, written: list[object], severity: str
) -> None:
    row = {"step": 0, "kind": "read", "blocks": 16, "zero": zeros}
    (finding,) = found("content", evidence(facts={"content": [row], "written": written}))
    assert finding.severity == severity


def test_zeros_of_holes_are_reported_as_holes_alone() -> None:
    facts = {
        "content": [{"step": 0, "kind": "read", "blocks": 16, "zero": 16}],
        "written": [{"step": 0, "files": 1, "size_bytes": MIB, "never_written_bytes": MIB}],
    }
    at = evidence(jobs=[JobLoad("j", ("read",))], facts=facts)
    assert (len(found("content", at)), len(found("unwritten-data", at))) == (0, 1)


def test_without_a_sample_nothing_is_reported() -> None:
    with pytest.raises(UnknownError):
        found("content", evidence())
