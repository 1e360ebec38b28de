"""Recorded output of mdtest 1.9 to 4.1: what is read is what is printed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tui.model.event import ALL_OVER, MetadataIteration, MetadataPhase
from tui.workloads.mdtest.output import OPERATIONS, MdtestOutput

DATA = Path(__file__).parents[2] / "data" / "mdtest"
RECORDINGS = sorted(path.stem for path in DATA.glob("*.out"))
PHASES = ["tree-create", "create", "stat", "read", "remove"]


def lines_of(name: str) -> list[str]:
    lines = (DATA / f"{name}.out").read_text(errors="replace").splitlines()
    return [line[8:] for line in lines] if "timestamps" in name else lines


def read(name: str, **known: int) -> tuple[MdtestOutput, list[MetadataPhase | MetadataIteration]]:
    output = MdtestOutput(**known)  # type: ignore[arg-type]  # the fields are numbers here
    events = [output.line(line, float(number)) or [] for number, line in enumerate(lines_of(name))]
    return output, [event for each in events for event in each]


def printed(name: str) -> dict[str, list[str]]:
    """The rows of the first table of rates: operation -> the four last words.

    Nothing of the parser is used.
    """
    lines = lines_of(name)
    titles = [
        index
        for index, line in enumerate(lines)
        if line.startswith("SUMMARY") and "time" not in line
    ]
    rows: dict[str, list[str]] = {}
    for line in lines[titles[0] + 1 :] if titles else []:
        for words, operation in OPERATIONS.items():
            if line.startswith("   " + words) and "sec," not in line:
                rows.setdefault(operation, line.split()[-4:])
        if line.startswith(("SUMMARY", "-- finished")):
            break
    return rows


def test_times_of_ranks_are_means_of_their_iterations() -> None:
    output, _ = read("mdtest-main-ranks")
    rows = [line.split(",") for line in lines_of("mdtest-main-ranks") if line[:2] in ("0,", "3,")]
    of_files = {name: 13 + 2 * place for place, name in enumerate(PHASES[1:])}
    results = output.results()
    for name, column in of_files.items():
        seconds = {rank: [float(row[column]) for row in rows if row[0] == rank] for rank in "03"}
        found = results[name].rank_seconds
        assert len(found) == 4 and all(len(each) == 2 for each in seconds.values())
        means = [sum(seconds[rank]) / 2 for rank in "03"]
        assert [found[0], found[3]] == pytest.approx(means, abs=1e-6)
    assert results["tree-create"].rank_seconds == []


@pytest.mark.parametrize("name", RECORDINGS)
def test_every_row_of_every_recorded_summary_is_read_as_printed(name: str) -> None:
    output, _ = read(name)
    expected = printed(name)
    read_rows = {
        name: each
        for name, each in output.operations.items()
        if each.mean is not None or each.max is None
    }
    for operation, words in expected.items():
        result = read_rows[operation]
        found = (result.max, result.min, result.mean, result.stddev)
        assert found == tuple(None if word == "NA" else float(word) for word in words)
    assert {name for name, each in read_rows.items() if each.mean is not None} == {
        name for name, words in expected.items() if words[2] != "NA"
    }


@pytest.mark.parametrize(
    ("name", "version", "tasks", "nodes", "items", "shift"),
    [
        ("mdtest-1.9.3-profile-v", "1.9.3", 4, 1, 800, -1),
        ("mdtest-1.9.4-rc1-profile-quiet", "1.9.4-rc1", 4, 1, 800, -1),
        ("mdtest-3.3.0-profile-v", "3.3.0", 4, 1, 800, 2),
        ("mdtest-main-profile-v", "4.1.0+dev", 4, 1, 800, 2),
        ("mdtest-main-2hosts-N1", "4.1.0+dev", 4, 2, 200, 2),
        ("mdtest-main-2hosts-manual-launcher", "4.1.0+dev", 4, 2, 200, 4),
        ("mdtest-1.9.3-openmpi-2hosts", "1.9.3", 4, 2, 200, -1),
    ],
)
def test_the_head_tells_version_ranks_nodes_files_and_shift(
    name: str, version: str, tasks: int, nodes: int, items: int, shift: int
) -> None:
    output, _ = read(name)
    told = (output.version, output.tasks, output.nodes, output.items, output.shift)
    assert told == (version, tasks, nodes, items, shift)


@pytest.mark.parametrize(
    "name", ["mdtest-1.9.3-profile-v", "mdtest-3.3.0-profile-v", "mdtest-main-profile-v"]
)
def test_phases_follow_each_other_in_every_iteration(name: str) -> None:
    _, events = read(name, iterations=3)
    phases = [
        (event.iteration, event.phase) for event in events if isinstance(event, MetadataPhase)
    ]
    assert phases == [
        *((iteration, phase) for iteration in (1, 2, 3) for phase in PHASES),
        (3, ALL_OVER),
    ]


def test_a_phase_that_ended_tells_its_operations_and_the_time_between_its_lines() -> None:
    _, events = read("mdtest-main-profile-v", iterations=3)
    stat = next(
        event for event in events if isinstance(event, MetadataPhase) and event.phase == "stat"
    )
    # a second a line, three lines
    assert (stat.ended, stat.ops, stat.seconds) == ("create", 800, 3.0)


@pytest.mark.parametrize(
    "name", ["mdtest-1.9.3-profile-v", "mdtest-3.3.0-profile-v", "mdtest-main-profile-v"]
)
def test_an_iteration_is_files_by_seconds_in_every_version(name: str) -> None:
    output, _ = read(name, iterations=3)
    for operation in ("create", "stat", "read", "remove"):
        each = output.operations[operation]
        assert len(each.iterations) == 3
        for rate, seconds in zip(each.iterations, each.seconds, strict=True):
            assert (
                output.items / (seconds + 0.0006)
                <= rate
                <= output.items / max(seconds - 0.0006, 1e-9)
            )


def test_a_table_of_times_is_no_table_of_rates() -> None:
    output, _ = read("mdtest-main-Z-time")
    assert output.operations == {} and output.times["create"].mean == 0.103


def test_a_table_of_times_behind_the_rates_leaves_them_alone() -> None:
    output, _ = read("mdtest-main-P-ratetime")
    assert output.operations["create"].mean == 3253.346 and output.times["create"].mean == 0.123


def test_operations_that_were_not_run_have_no_result() -> None:
    output, _ = read("mdtest-1.9.3-C-only")
    assert set(output.results()) == {"create", "tree-create"}


def test_a_creation_that_a_stonewall_interrupts_is_one_phase() -> None:
    _, events = read("mdtest-main-W2")
    assert [event.phase for event in events if isinstance(event, MetadataPhase)] == [
        *PHASES,
        ALL_OVER,
    ]


def test_version_3_2_is_distinguished_from_1_9_3_by_its_quotes() -> None:
    output = MdtestOutput()
    output.line("mdtest-1.9.3 was launched with 2 total task(s) on 1 node(s)")
    output.line('Command line used: mdtest "-v" "-N" "2"')
    assert output.version == "3.2"


def test_an_output_that_was_cut_is_not_finished() -> None:
    output, _ = read("hydra-kill-rank")
    assert not output.finished and output.summary_iterations is None and output.iteration == 1
