"""Results of elbencho whose figures contradict each other, or the command line."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.workloads.worded import are_worded
from tui.judge.whole_results import DOUBTFUL, NOTED
from tui.model.event import Contradiction
from tui.workloads.elbencho.contradictions import TEXTS, PhaseFacts, steady_s
from tui.workloads.elbencho.contradictions import contradictions as of_phase
from tui.workloads.elbencho.kept import import_output

DATA = Path(__file__).parents[2] / "data" / "elbencho"
WITH_RESULTS = sorted(
    path.name
    for suffix in ("json", "csv", "out")
    for path in DATA.glob(f"*.{suffix}")
    if path.stem != "no-space" and re.search("phase_type|operation|OPERATION", path.read_text())
)


def contradictions(name: str, pattern: str = "", new: str = "") -> list[Contradiction]:
    """The contradictions in a recording in which every match of a pattern is replaced."""
    text = (DATA / name).read_text()
    if pattern:
        text, count = re.subn(pattern, new, text, flags=re.M)
        assert count
    outputs = import_output(text, name)
    return [each for output in outputs for each in output.result.contradictions or ()]


@pytest.mark.parametrize("name", WITH_RESULTS)
def test_recorded_output_contradicts_nothing(name: str) -> None:
    assert contradictions(name) == []


@pytest.mark.parametrize(
    ("name", "pattern", "new"),
    [
        ("files-write-read.json", r'"entries":"400"', '"entries":"800"'),
        ("files-write-read.json", r'"bytes":"6553600"', '"bytes":"9553600"'),
        ("files-write-read.json", r'^.*"phase_type":"STAT".*\n', ""),
        ("files-write-read.json", r'\\"--stat\\" ', ""),
        ("files-write-read.json", r'"threads":"4"', '"threads":"5"'),
        ("files-write-read.json", r'"entries":"331"', '"entries":"431"'),
        ("files-write-read.csv", r"^.*,READ,.*\n", ""),
        ("files-write-read.csv", r",331,400,", ",331,500,"),
        ("files-write-read.out", r"99%<=724", "99%<=45"),
        ("files-write-read.out", r"Files total      :         331         400",
         "Files total      :         331         500"),
        ("rand-read-live.csv", r'"-b" "4k"', '"-b" "8k"'),
        ("rand-read-live.csv", r',4096,1,1,1,4,(.*)"4k"', r',1048576,1,1,1,4,\1"1m"'),
        ("limited.json", r'"bytes":"\d+"', '"bytes":"50000000"'),
        ("rand-read-live.json", r'"elapsed_time_ms":"6\d+"', '"elapsed_time_ms":"60000"'),
    ],
)  # fmt: skip
def test_a_changed_figure_contradicts_others_which_is_an_error(
    name: str, pattern: str, new: str
) -> None:
    found = contradictions(name, pattern, new)
    assert found and are_worded(found, TEXTS)
    assert not {each.about for each in found} & {*DOUBTFUL, *NOTED}


@pytest.mark.parametrize(
    ("option", "runtime_s"),
    [("--infloop", 6.0), ("--limitread", None), ("--verify", None)],
)
def test_only_threads_that_read_to_the_time_limit_keep_their_queue_full(
    option: str, runtime_s: float | None
) -> None:
    text = (DATA / "rand-read-live.csv").read_text().replace("--infloop", option)
    (read,) = import_output(text, "rand-read-live.csv")
    assert read.runtime_s == runtime_s


@pytest.mark.parametrize(("first_ms", "runtime_s"), [(5999, None), (6000, 6.0)])
def test_no_thread_was_done_early_if_the_first_one_reached_the_time_limit(
    first_ms: int, runtime_s: float | None
) -> None:
    command = "elbencho -r --rand -t 2 -s 1g --randamount 9g --timelimit 6 f"
    assert steady_s(command, "file", first_ms) == runtime_s


@pytest.mark.parametrize(
    ("options", "direct", "random", "found"),
    [
        ("--direct --rand", True, True, []),
        ("", False, False, []),
        ("--gds", True, False, []),  # turns on direct I/O
        ("--rand", False, True, []),
        ("--rand", True, False, ["off"]),
        ("--direct --rand", False, False, ["off", "off"]),
    ],
)
def test_flags_of_the_result_are_those_of_the_command_line(
    options: str, direct: bool, random: bool, found: list[str]
) -> None:
    flags = {"direct": direct, "rand": random}
    phase = PhaseFacts("READ", f"elbencho -r {options} f", "file", flags=flags)
    assert [each.about for each in of_phase(phase)] == found


@pytest.mark.parametrize(
    ("options", "hosts", "found"),
    [
        ("", 1, []),
        ("", 7, ["setting"]),
        ("--hosts h1,h2", 2, []),
        ("--hosts h1,h2", 3, ["setting"]),
        ("--hosts h[1-3]", 3, []),
        ("--hosts h1,h2,h3 --numhosts 2", 2, []),
        ("--hostsfile f", 9, []),
    ],
)
def test_hosts_of_the_result_are_those_of_the_command_line(
    options: str, hosts: int, found: list[str]
) -> None:
    phase = PhaseFacts("READ", f"elbencho -r {options} f", "file", {"hosts": hosts})
    assert [each.about for each in of_phase(phase)] == found
