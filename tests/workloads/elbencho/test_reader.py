"""What elbencho printed, read second by second and at the end.

What it complains of, and how it ends.
"""

from __future__ import annotations

import json

import pytest

from tests.samples.words import lines, texts
from tests.workloads.elbencho.recorded import DATA, output, phase_lines, profiles
from tui.model.address import HostAddress
from tui.model.dense import listed
from tui.model.event import HostResult, Sample
from tui.model.plan import Step
from tui.model.profile import resolve_params
from tui.model.profile_load import load_profile
from tui.testing import Output
from tui.workloads.base import Item
from tui.workloads.elbencho.plan import build_steps
from tui.workloads.elbencho.reader import ElbenchoReader


def step_of(name: str, phase: str) -> Step:
    profile = load_profile(profiles(name)[phase], "p.yaml")
    return build_steps(profile, resolve_params(profile, {}), [HostAddress("h1")], {"h1": 1})[0]


def read(
    step: Step, printed: Output
) -> tuple[list[Item], HostResult | None, list[tuple[str, str]]]:
    reader = ElbenchoReader("h1", step, "measure")
    items = [*reader.feed(printed.out), *reader.feed_stderr(printed.err), *reader.flush()]
    problems = texts("elbencho", reader.problems(printed.exit_code))
    return lines("elbencho", items), reader.result(printed.exit_code), problems


def samples(items: list[Item]) -> list[Sample]:
    return [item for item in items if isinstance(item, Sample)]


@pytest.mark.parametrize(("name", "phase", "direction"), [
    ("rand-read-live", "read", "read"), ("limited", "read", "read"),
    ("big-write", "write", "write"),
    ("files-live", "write", "write"), ("files-live", "write", "write-files"),
    ("rwmix", "write", "write"),
    ("files-live-delete", "rmfiles", "rmfiles"), ("files-live-delete", "rmdirs", "rmdirs"),
    ("files-write-read", "stat", "stat"),
    ("s3-objects", "write", "write"), ("s3-objects", "write", "write-objects"),
    ("s3-objects", "stat", "head"), ("s3-objects", "rmobjects", "trim"),
    ("s3-parts", "write", "write"), ("s3-parts", "read", "read-objects"),
    ("s3-get-timed", "read", "read"), ("s3-head-timed", "stat", "head"),
    ("s3-buckets", "mkbuckets", "mkbuckets"), ("s3-buckets", "rmbuckets", "rmbuckets"),
])  # fmt: skip
def test_every_figure_is_the_one_that_elbencho_prints(
    name: str, phase: str, direction: str
) -> None:
    _, result, problems = read(step_of(name, phase), output(name, phase))
    last = json.loads(phase_lines(name)[phase])["last_done"]
    assert result is not None and result.final and problems == []
    part = result.dirs[direction]
    of_files = direction not in ("read", "write")
    latency = last["latency"]["entries" if of_files else "IO"]
    assert part.bytes == (0 if of_files else int(last["bytes"]))
    assert part.iops == pytest.approx(
        int(last["entries/s" if of_files else "iops"]), rel=1e-3, abs=1
    )
    assert part.lat is not None
    printed = [int(latency[key]) * 1000 for key in ("min_us", "avg_us", "max_us")]
    assert [part.lat.min_ns, round(part.lat.mean_ns), part.lat.max_ns] == printed
    assert (
        part.lat.n
        == part.ios
        == sum(int(each["count"]) for each in latency["histogram"]["buckets"])
    )


def test_percentiles_are_those_that_elbencho_prints_and_never_above_the_maximum() -> None:
    _, result, _ = read(step_of("rand-read-live", "read"), output("rand-read-live", "read"))
    assert result is not None
    latency = result.dirs["read"].lat
    assert latency is not None
    told = {name: latency.percentiles_ns[name] for name in ("1", "50", "75", "99")}
    # 1%<=128 50%<=304 75%<=431 99%<=2048
    assert told == {"1": 128_000, "50": 304_000, "75": 431_000, "99": 2_048_000}
    assert latency.bucket_width == pytest.approx(2**0.25 - 1, abs=1e-4)
    assert latency.stddev_ns is None


def test_live_latency_is_the_mean_of_each_interval_without_any_percentile() -> None:
    items, _, _ = read(step_of("rand-read-live", "read"), output("rand-read-live", "read"))
    first = samples(items)[0].dirs["read"]
    assert (first.bytes, first.ios) == (64_798_720, 64_798_720 // 4096)
    assert first.lat_sum_ns == first.ios * 504_000
    assert not listed(first.lat).idx


def test_reads_and_writes_of_a_mix_are_one_sample() -> None:
    rows = (
        "ISO Date,Label,Phase,RuntimeMS,Rank,MixType,Done%,DoneBytes,MiB/s,IOPS,Entries,Entries/s,Lat"
        " Ent us,Lat IO us,"
        "Active,CPU,Service,\n"
        "2026-11-23T22:41:54.702+0000,,RWMIX70,1000,Total,Write,5,4096000,3,1000,0,0,0,200,2,57,,\n"
        "2026-11-23T22:41:54.702+0000,,RWMIX70,1000,Total,Read,5,8192000,7,2000,0,0,0,100,2,57,,\n"
    )
    items, _, _ = read(step_of("rwmix", "write"), Output(rows.encode()))
    (one,) = samples(items)
    assert {name: part.ios for name, part in one.dirs.items()} == {"write": 1000, "read": 2000}


def test_what_no_row_holds_is_a_sample_at_the_end_of_the_phase() -> None:
    items, result, _ = read(step_of("files-live", "write"), output("files-live", "write"))
    assert result is not None
    told = [each.dirs["write"].bytes for each in samples(items)]
    assert sum(told) == result.dirs["write"].bytes and len(told) == 2


@pytest.mark.parametrize(("name", "code", "said"), [
    ("missing-file", "elbencho-no-target", "cannot open nosuch: No such file or directory"),
    ("no-space", "no-space", "no space left"),
    ("bad-option", "elbencho-bad-option", "unrecognised option '--wat'"),
])  # fmt: skip
def test_what_it_complains_of_is_reported_in_a_line(name: str, code: str, said: str) -> None:
    printed = Output((DATA / f"{name}.out").read_bytes(), (DATA / f"{name}.err").read_bytes(), 1)
    _, result, problems = read(step_of("big-write", "write"), printed)
    assert result is None
    assert said in dict(problems)[code]


@pytest.mark.parametrize(("name", "code", "said"), [
    ("s3-403", "elbencho-http-status", "PUT failed with HTTP 403: wrong keys"),
    ("s3-404", "elbencho-http-status", "404: the bucket or the object is missing (bench none/r0/d0/r0-f0)"),
    ("s3-no-bucket", "elbencho-http-status", "HTTP 404: the bucket does not exist (nothing r0/"),
    ("s3-not-empty", "elbencho-http-status", "bucket DELETE failed with HTTP 409"),
    ("s3-503", "elbencho-http-status", "requests; elbencho retried it up to 10 times (bench"),
    ("s3-part-403", "elbencho-http-status", "part PUT failed with HTTP 403"),
    ("s3-no-server", "elbencho-no-answer", "http://127.0.0.1:9 got no answer: Couldn't connect"),
])  # fmt: skip
def test_a_failed_request_is_one_line_with_status_and_cause(
    name: str, code: str, said: str
) -> None:
    printed = Output((DATA / f"{name}.out").read_bytes(), (DATA / f"{name}.err").read_bytes(), 1)
    items, result, problems = read(step_of("s3-put", "write"), printed)
    assert result is None and [each for each, _ in problems] == [code]
    assert said in problems[0][1]
    (line,) = (item for item in items if isinstance(item, tuple))
    assert said in line[1]


@pytest.mark.parametrize("signal", ["sigint", "sigterm"])
def test_exit_code_1_with_a_whole_result_is_a_stop(signal: str) -> None:
    tables = (DATA / f"{signal}.err").read_bytes() + (DATA / f"{signal}.out").read_bytes()
    out = (DATA / "sigint.out").read_bytes() + (DATA / "sigint.json").read_bytes()
    _, result, problems = read(step_of("rand-read-live", "read"), Output(out, tables, 1))
    assert result is not None and not result.final and result.dirs["read"].ios
    assert [code for code, _ in problems] == ["elbencho-stopped-by-signal"]
