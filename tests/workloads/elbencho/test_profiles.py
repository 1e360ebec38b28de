"""Profiles of elbencho: what is planned of them, what is refused, and what command lines import
as.
"""

from __future__ import annotations

import re

import pytest

from tui.model.address import HostAddress
from tui.model.operands import clause
from tui.model.plan import FILE_NUMBER, Step
from tui.model.problem import UsageError
from tui.model.profile import resolve_params
from tui.model.profile_load import load_profile
from tui.model.quantities import parse_size
from tui.model.search import Offer
from tui.workloads.elbencho.jobimport import import_job
from tui.workloads.elbencho.plan import build_steps, pace, set_by_search

FILES = "phase: {phase}, directory: /data, options: {{threads: 2, dirs: 1, files: 2, size: 4k}}"
RANDOM = (
    "phase: read, file: '/data/f.{host}', options: {size: 1M, block: 4k, threads: 4, iodepth: 2,"
    " rand: 1}"
)


def text(body: str, headline: str = "{metric: iops, direction: read}") -> str:
    return (
        f"profile: my/one\ntitle: One\ntool: elbencho\nelbencho: {{{body}}}\nheadline: {headline}\n"
    )


def planned(body: str, headline: str, hosts: int = 2) -> Step:
    profile = load_profile(text(body, headline), "p.yaml")
    names = [HostAddress(f"h{number}") for number in range(1, hosts + 1)]
    seeds = {host.name: 1 for host in names}
    return build_steps(profile, resolve_params(profile, {}), names, seeds)[0]


def test_hosts_that_share_a_directory_have_ranks_and_files_of_their_own() -> None:
    step = planned(FILES.format(phase="write"), "{metric: ops, direction: write-files}")
    first, second = step.tasks
    assert next((spec.path, spec.count) for spec in first.files) == (
        f"/data/r0/d0/r0-f{FILE_NUMBER}",
        2,
    )
    assert next(spec.path for spec in second.files) == f"/data/r2/d0/r2-f{FILE_NUMBER}"
    assert "--rankoffset" not in first.job_file and "--rankoffset 2" in second.job_file
    assert (first.writes_bytes, first.required_dir, first.directories[:2]) == (
        4 * 4096,
        "/data",
        ["/data/r0", "/data/r0/d0"],
    )


@pytest.mark.parametrize(
    ("phase", "expects", "loses"), [("stat", "present", False), ("rmfiles", "present", True)]
)
def test_phases_that_need_files_say_so_and_removal_counts_as_loss(
    phase: str, expects: str, loses: bool
) -> None:
    task = planned(FILES.format(phase=phase), f"{{metric: ops, direction: {phase}}}").tasks[0]
    assert (task.expects, bool(task.written)) == (expects, loses)


def test_directories_that_the_load_makes_are_not_made_before_it() -> None:
    task = planned(FILES.format(phase="mkdirs"), "{metric: ops, direction: mkdirs}").tasks[0]
    assert (task.directories, task.makes_directories[:2]) == ([], ["/data/r0", "/data/r0/d0"])


def test_a_timed_load_says_how_long_and_how_much_is_in_flight() -> None:
    step = planned(
        RANDOM.replace("rand: 1", "rand: 1, infloop: 1, timelimit: 30s"),
        "{metric: iops, direction: read}",
    )
    (job,) = step.jobs
    assert (step.runtime_s, step.in_flight, job.held, job.random, job.block_bytes) == (
        30.0,
        16,
        8,
        True,
        4096,
    )
    assert "--infloop" in step.tasks[0].job_file and "--timelimit 30" in step.tasks[0].job_file


@pytest.mark.parametrize(("body", "said"), [
    (RANDOM.replace("threads", "treads"), "unknown option 'treads' (did you mean 'threads'?)"),
    (RANDOM.replace("rand: 1", "hosts: a"),
        "hosts is not allowed here: benchtui runs one elbencho on each host"),
    (RANDOM.replace("rand: 1", "infloop: 1"), "options.infloop requires timelimit"),
    (RANDOM.replace("rand: 1", "limitwrite: 1M"), "limitwrite has no effect on phase read"),
    (RANDOM.replace("size: 1M, ", ""), "options.size is required"),
    (RANDOM.replace("size: 1M", "size: 12k"), "4 threads need a block each"),
    (RANDOM.replace("rand: 1", "treefile: /t"), "treefile is not supported"),
    (FILES.format(phase="read").replace("/data", "data"), "expected an absolute path"),
    ("phase: read, options: {size: 1M}", "exactly one of 'directory', 'file' and 'bucket'"),
    ("phase: read, file: /dev/sdx, options: {size: 1M}", "requires 'allow_device: true'"),
])  # fmt: skip
def test_what_cannot_be_run_is_refused_in_a_line(body: str, said: str) -> None:
    with pytest.raises(UsageError) as caught:
        load_profile(text(body), "p.yaml")
    assert said in str(caught.value)


def test_a_headline_of_another_phase_is_refused() -> None:
    with pytest.raises(UsageError, match="phase stat reports stat"):
        load_profile(text(FILES.format(phase="stat"), "{metric: iops, direction: read}"), "p.yaml")


def test_a_rate_is_shared_out_as_bytes_per_second_and_thread() -> None:
    profile = load_profile(text(RANDOM), "p.yaml")
    hosts = [HostAddress("h1"), HostAddress("h2")]
    made = pace(profile, {}, hosts, {"h1": 1, "h2": 1}, Offer(800.0, 10.0))
    assert "--limitread 400k" in made.step.tasks[0].job_file
    assert made.step.jobs[0].rate_iops == {"read": 400.0}
    with pytest.raises(UsageError, match="at least one is required"):
        pace(profile, {}, hosts, {"h1": 1, "h2": 1}, Offer(4.0, 10.0))


def test_a_rate_is_offered_by_the_hosts_that_get_a_thread_alone() -> None:
    shared = text(RANDOM.replace("threads: 4", "threads: '{threads}'"))
    params = "params: {threads: {default: 1, kind: count, spread: true}}\n"
    profile = load_profile(shared + params, "p.yaml")
    hosts = [HostAddress("h1"), HostAddress("h2")]
    made = pace(profile, resolve_params(profile, {}), hosts, {"h1": 1, "h2": 1}, Offer(800.0, 10.0))
    assert [task.host for task in made.step.tasks] == ["h1"]
    assert made.step.jobs[0].rate_iops == {"read": 800.0}


def test_random_reads_at_a_rate_are_one_pass_because_each_pass_restarts_the_limit() -> None:
    profile = load_profile(text(RANDOM), "p.yaml")
    made = pace(profile, {}, [HostAddress("h1")], {"h1": 1}, Offer(400.0, 60.0))  # 80 s of it
    assert "--randamount 125M" in made.step.tasks[0].job_file
    assert (made.own_ramp, made.step.ramp_s, set_by_search(profile, {})) == (True, 0.0, [])


@pytest.mark.parametrize(("files", "paced"), [(2000, True), (1900, False)])
def test_passes_that_are_too_short_for_a_rate_are_refused(files: int, paced: bool) -> None:
    body = FILES.format(phase="read").replace("files: 2", f"files: {files}")
    profile = load_profile(text(body, "{metric: iops, direction: read}"), "p.yaml")
    offer = Offer(200.0, 10.0)  # 100 a second and thread: 2000 files are 20 s
    assert set_by_search(profile, {}) == [
        clause("highest-rate", most_iops=files // 20 * 2, pass_s=20)
    ]
    if paced:
        pace(profile, {}, [HostAddress("h1")], {"h1": 1}, offer)
        return
    with pytest.raises(UsageError, match="restarts its rate limit"):
        pace(profile, {}, [HostAddress("h1")], {"h1": 1}, offer)


@pytest.mark.parametrize(
    ("seconds", "limit"),
    [(10.0, 100), (60.0, 95)],  # a point of a part of a pass; of three passes of 21 whole seconds
)
def test_passes_that_restart_the_limit_take_whole_seconds(seconds: float, limit: int) -> None:
    body = FILES.format(phase="read").replace("files: 2", "files: 2005")  # 20.05 s of 100 a second
    profile = load_profile(text(body, "{metric: iops, direction: read}"), "p.yaml")
    step = pace(profile, {}, [HostAddress("h1")], {"h1": 1}, Offer(200.0, seconds)).step
    (given,) = re.findall(r"--limitread (\S+)", step.tasks[0].job_file)
    assert parse_size(given) // 4096 == limit


# -- command lines


def test_each_phase_of_a_command_line_is_a_profile_of_a_suite() -> None:
    found = import_job("elbencho -d -w -r -t 2 -n 3 -N 4 -s 1m -b 128k --lat /data/dir", "job.sh")
    suite, *members = found.profiles
    assert suite[0] == "my/job" and "tool: suite" in suite[1]
    assert [text.partition("  phase: ")[2].split()[0] for _, text in members] == [
        "mkdirs",
        "write",
        "read",
    ]
    assert any("--lat is dropped" in each.message for each in found.messages)


def test_phases_after_one_that_its_time_limit_ends_are_named() -> None:
    found = import_job("elbencho -w -r -t 2 -s 1m -b 4k --infloop --timelimit 10 /data/f", "job.sh")
    assert any("would then skip read" in each.message for each in found.messages)


def test_ranges_of_files_are_the_files_of_one_profile() -> None:
    ((_, profile),) = import_job(
        'elbencho -r -b 4k -t 4 --rand -s 1m "/data/f[1-3]"', "job.sh"
    ).profiles
    body = load_profile(profile, "p.yaml").body
    assert body.file == ["/data/f1", "/data/f2", "/data/f3"]


@pytest.mark.parametrize(("line", "said"), [
    ("elbencho -r -s 1m --wat /data/f", "unknown option 'wat'"),
    ("elbencho --service", "benchtui runs one elbencho on each host"),
    ("elbencho -r -s 1m f", "expected an absolute path"),
    ("elbencho -t 4 /data/f", "no phase"),
    ("fio job.fio", "no elbencho command found"),
])  # fmt: skip
def test_a_command_line_without_a_place_in_a_profile_is_refused_with_its_line(
    line: str, said: str
) -> None:
    with pytest.raises(UsageError) as caught:
        import_job(f"#!/bin/sh\n{line}\n", "job.sh")
    assert said in str(caught.value)
