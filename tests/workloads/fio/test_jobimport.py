"""A stock fio job file becomes profiles that render the same jobs.

Real fio says which jobs those are.
"""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tui.model.address import HostAddress
from tui.model.problem import UsageError
from tui.model.profile import Profile, resolve_params
from tui.model.profile_load import load_profile
from tui.model.quantities import parse_duration, parse_size
from tui.workloads.base import Imported, default_tag
from tui.workloads.fio.jobfile import ADDED, render
from tui.workloads.fio.jobimport import import_job
from tui.workloads.fio.plan import build_steps

needs_fio = pytest.mark.skipif(shutil.which("fio") is None, reason="no fio on this machine")
SIZES, TIMES = ("size", "filesize", "bs"), ("runtime",)
Jobs = list[tuple[str, dict[str, str]]]

ONE = """\
; Random reads of 4 KiB
[global]
ioengine=libaio   ; comment behind a value
direct=1
runtime=60
time_based
directory=/mnt/t

[rand read]
rw=randread
blocksize=4K
iodepth=16
numjobs=8
size=1G
"""
SEVERAL = """\
[global]
ioengine=psync
directory=/mnt/t
size=64m
bs=4k
[early]
rw=read
[global]
bs=1m
rwmixread=70
thread
[late]
rw=randrw
[both]
rw=write
bs=8k
"""
WALLS = """\
[global]
ioengine=psync
directory=/mnt/t
size=64m
[w]
rw=write
bs=1m
[w2]
rw=write
bs=1m
[r]
stonewall
rw=read
bs=1m
[rr]
wait_for_previous
rw=randread
bs=4k
[rest]
stonewall=0
rw=randread
bs=8k
"""


def imported(text: str, **environ: str) -> Imported:
    return import_job(text, "x.fio", "my/x", environ)


def profiles(found: Imported) -> list[Profile]:
    return [load_profile(text, f"{tag}.yaml") for tag, text in found.profiles]


def only(text: str, **environ: str) -> Profile:
    (profile,) = profiles(imported(text, **environ))
    return profile


def said(found: Imported) -> list[str]:
    return [str(message) for message in found.messages]


def refusal(text: str) -> str:
    with pytest.raises(UsageError) as caught:
        imported(text)
    return str(caught.value)


def in_job(option: str) -> str:
    """A job with one more option, on line 2."""
    return f"[a]\n{option}\nrw=randread\nsize=1m\ndirectory=/mnt/t\n"


def jobs_by_fio(text: str, folder: Path) -> Jobs:
    """Return (name, all options that hold for it) of every job, as fio itself has parsed them.

    fio prints for each [global] all that holds from there, then name and own options of the jobs
    that follow.
    """
    path = folder / "job.fio"
    path.write_text("[global]\ndescription=MARK\n" + text)
    done = subprocess.run(["fio", "--showcmd", path], capture_output=True, text=True, check=False)
    assert done.stderr == "", done.stderr
    found: Jobs = []
    for chunk in done.stdout.split('--description="MARK"')[1:]:
        shared, *jobs = re.split(r"(?:^| )--name=", chunk)
        for job in jobs:
            name, _, own = job.partition(" --")
            words = [
                word.removeprefix("--").partition("=") for word in shlex.split(f"{shared} --{own}")
            ]
            found.append((name.strip(), {name: value.strip() for name, _, value in words if name}))
    return found


def normal(options: dict[str, str]) -> dict[str, str]:
    """Return options as they count: sizes in bytes, times in seconds, flags as 1, without what only
    reports.
    """
    found: dict[str, str] = {}
    for name, value in options.items():
        if name in (*ADDED, "new_group", "stonewall"):
            continue
        try:
            number = (
                parse_size(value)
                if name in SIZES
                else parse_duration(value)
                if name in TIMES
                else None
            )
        except ValueError:
            number = None
        found[name] = str(number) if number is not None else value or "1"
    return found


def steps_by_fio(found: Imported, folder: Path) -> list[Jobs]:
    """Return the jobs of every step that the profiles render."""
    rendered = []
    for profile in profiles(found):
        if profile.tool == "fio":
            text = render(profile, resolve_params(profile, {}), "local", 1, None)
            rendered.append(
                [(name, normal(options)) for name, options in jobs_by_fio(text, folder)]
            )
    return rendered


@needs_fio
@pytest.mark.parametrize("text", [ONE, SEVERAL, WALLS], ids=["one", "several globals", "stonewall"])
def test_the_same_jobs_come_out(text: str, tmp_path: Path) -> None:
    before = [(name, normal(options)) for name, options in jobs_by_fio(text, tmp_path)]
    steps = steps_by_fio(imported(text), tmp_path)
    assert [job for step in steps for job in step] == before


@needs_fio
def test_a_stonewall_begins_another_step(tmp_path: Path) -> None:
    steps = steps_by_fio(imported(WALLS), tmp_path)
    assert [[name for name, _ in step] for step in steps] == [["w", "w2"], ["r"], ["rr", "rest"]]


OPTIONS: dict[str, list[str] | list[None] | list[str | None]] = {
    "rw": ["read", "randwrite", "randrw", "write"],
    "bs": ["4k", "8192", "1m", "4k,8k"],
    "blocksize": ["16k"],
    "iodepth": ["1", "32"],
    "size": ["1m", "2G", "10%"],
    "numjobs": ["1", "4"],
    "runtime": ["5", "2m", "250ms"],
    "direct": ["1", "0"],
    "stonewall": [None, "0"],
    "thread": [None, "1"],
    "directory": ["/mnt/t", "/mnt/u"],
    "filename": ["/mnt/f", "/mnt/a:/mnt/b", "f"],
    "; nothing": [None],
}
SECTION = st.tuples(
    st.sampled_from(["global", "a", "b", "c d", "global"]),
    st.lists(
        st.sampled_from(sorted(OPTIONS)).flatmap(
            lambda n: st.tuples(st.just(n), st.sampled_from(OPTIONS[n]))
        )
    ),
)


def job_file(sections: list[tuple[str, list[tuple[str, str | None]]]]) -> str:
    lines = ["[global]", "ioengine=psync", "directory=/mnt/t"]
    for number, (name, options) in enumerate(sections):
        lines.append(f"[{name}]" if name == "global" else f"[{name}{number}]")
        lines += [name + (f"={value}" if value else "") for name, value in options]
    return "\n".join([*lines, "[last]", ""])


@needs_fio
@settings(max_examples=15, deadline=None)
@given(st.lists(SECTION, max_size=5))
def test_whatever_jobs_a_file_has_the_same_come_out(
    tmp_path_factory: pytest.TempPathFactory,
    sections: list[tuple[str, list[tuple[str, str | None]]]],
) -> None:
    folder = tmp_path_factory.getbasetemp()
    text = job_file(sections)
    before = [(name, normal(options)) for name, options in jobs_by_fio(text, folder)]
    steps = steps_by_fio(imported(text), folder)
    assert [job for step in steps for job in step] == before


# -- what is written


def test_one_job_becomes_a_profile_that_people_can_read() -> None:
    ((tag, text),) = imported(ONE).profiles
    assert tag == "my/x"
    assert (
        text
        == """\
# Imported from x.fio
profile: my/x
title: Random reads of 4 KiB
tool: fio

params:
  directory: {default: /mnt/t, kind: directory, help: Directory for the test files}
  runtime:   {default: 60, kind: duration, help: Measured time}
  size:      {default: 1G, kind: size, help: Bytes per job}
  bs:        {default: 4K, kind: size, help: Block size}
  iodepth:   {default: 16, kind: count, help: I/Os in flight per job}
  numjobs:   {default: 8, kind: count, help: Jobs on each host}

fio:
  global:
    ioengine: libaio
    direct: 1
    runtime: "{runtime}"
    time_based:
    directory: "{directory}"
  jobs:
    rand read:
      rw: randread
      blocksize: "{bs}"
      iodepth: "{iodepth}"
      numjobs: "{numjobs}"
      size: "{size}"

headline: {metric: iops, direction: read}
"""
    )


def test_several_steps_become_a_suite() -> None:
    found = imported(WALLS)
    assert [tag for tag, _ in found.profiles] == ["my/x", "my/x-1", "my/x-2", "my/x-3"]
    assert profiles(found)[0].suite == ["my/x-1", "my/x-2", "my/x-3"]
    assert said(found) == [
        "x.fio:11: stonewall: 3 consecutive steps, one profile each; my/x runs them in order"
    ]


def test_the_headline_is_what_the_jobs_do() -> None:
    headlines = [profile.headline for profile in profiles(imported(WALLS))[1:]]
    assert [(each.metric, each.direction) for each in headlines] == [
        ("bandwidth", "write"), ("bandwidth", "read"), ("iops", "read"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ("rw=write\nfdatasync=1", ("latency", "sync", 99)),
        ("rw=randwrite\nfsync=32", ("latency", "sync", 99)),
        ("rw=randwrite\nfsync=0", ("iops", "write", None)),
        ("rw=randtrim", ("iops", "trim", None)),
    ],
)
def test_the_headline_of_synced_writes_is_how_long_a_sync_takes(
    options: str, expected: tuple[object, ...]
) -> None:
    headline = only(f"[a]\n{options}\nsize=1m\ndirectory=/mnt/t\n").headline
    assert headline is not None
    assert (headline.metric, headline.direction, headline.percentile) == expected


def test_a_value_that_differs_between_jobs_is_no_parameter() -> None:
    assert list(only(SEVERAL).params) == ["directory", "size"]


def test_a_variable_becomes_a_parameter_with_its_value() -> None:
    profile = only("[a]\nsize=${SIZE}\ndirectory=${MNT}/t\nrw=read\n", SIZE="2G", MNT="/mnt")
    assert {name: (p.kind, p.default) for name, p in profile.params.items()} == {
        "size": ("size", "2G"), "mnt": ("text", "/mnt"),
    }  # fmt: skip
    assert profile.body.jobs["a"]["directory"] == "{mnt}/t"


def test_fio_s_own_names_in_file_names_stay() -> None:
    profile = only(in_job("filename_format=$jobname.$jobnum.$filenum"))
    assert profile.body.jobs["a"]["filename_format"] == "$jobname.$jobnum.$filenum"


def test_braces_are_characters() -> None:
    assert only(in_job("description=x{y}")).body.jobs["a"]["description"] == "x{{y}}"


def test_a_comma_in_a_directory_stays() -> None:
    made = import_job("[a]\ndirectory=/mnt/a,b\nrw=read\nsize=1m\n", "a.fio", None, {})
    assert load_profile(made.profiles[0][1], "a.yaml").params["directory"].default == "/mnt/a,b"


def test_a_job_without_a_directory_gets_a_parameter_for_it() -> None:
    found = imported("[a]\nrw=read\nsize=1m\n")
    assert profiles(found)[0].body.shared["directory"] == "{directory}"
    assert said(found) == [
        "x.fio:1: no directory: fio uses its working directory; set the parameter 'directory'"
    ]


@pytest.mark.parametrize(
    "text", ["[/dev/sdb]\nrw=randread\n", "[a]\nrw=randread\nfilename=/dev/sdb\n"]
)
def test_a_device_is_allowed_with_a_clear_word(text: str) -> None:
    found = imported(text)
    (profile,) = profiles(found)
    assert profile.allow_device
    assert (profile.params["filename"].kind, profile.params["filename"].default) == (
        "device",
        "/dev/sdb",
    )
    assert any("/dev/sdb is a device: 'allow_device: true' is set" in line for line in said(found))


@pytest.mark.parametrize("name", ["/dev/null", "/dev/zero"])
def test_a_device_that_keeps_nothing_is_not_said_to_lose_anything(name: str) -> None:
    (line,) = [
        line
        for line in said(imported(f"[a]\nrw=write\nsize=1m\nfilename={name}\n"))
        if "device" in line
    ]
    assert line.endswith(f"{name} is a device: 'allow_device: true' is set")


@pytest.mark.parametrize("size", ["size=1z", "size=8z", "offset=2z\nsize=1z", "size=50%"])
def test_zones_and_shares_of_a_device_can_be_planned(size: str) -> None:
    profile = only(f"[a]\nrw=read\nzonemode=zbd\nfilename=/dev/sdb\n{size}\n")
    (step,) = build_steps(profile, resolve_params(profile, {}), [HostAddress("h")], {"h": 1})
    assert step.tasks[0].files[0].size_bytes == 0, "only the host knows"


XNVME = "[global]\nioengine=xnvme\n\n[a]\nrw=read\n"
SMALL = "[a]\nrw=read\nfilename=/x\nsize=1m\n[b]\nrw=read\nfilename=/y\nsize=2\n"


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [(XNVME, 4, "directory= or filename= is required"), (SMALL, 5, "less than one block of 4 KiB")],
)
def test_what_cannot_be_planned_is_refused_with_the_line_of_its_job(
    text: str, line: int, message: str
) -> None:
    told = refusal(text)
    assert told.startswith(f"x.fio:{line}: ") and message in told


def test_two_jobs_of_one_name_keep_their_files() -> None:
    found = imported("[global]\ndirectory=/mnt/t\nsize=1m\n[a]\nrw=read\n[a]\nrw=write\n")
    assert profiles(found)[0].body.jobs["a-2"]["filename_format"] == "a.$jobnum.$filenum"
    assert said(found) == ["x.fio:6: job [a] is renamed to 'a-2'"]


@pytest.mark.parametrize(
    ("option", "message"),
    [
        (
            "percentile_list=50:99",
            "x.fio:2: percentile_list is dropped: benchtui records a fixed list of percentiles",
        ),
        ("gtod_reduce=1", "x.fio:2: gtod_reduce is dropped: benchtui records latencies"),
        ("name=other", "x.fio:2: name is dropped: the section name is the job name"),
        ("runtime=0", "x.fio:2: runtime is dropped: in fio, 0 means no limit"),
        (
            "time_based",
            "x.fio:2: time_based is dropped: there is no runtime, so fio ignores it",
        ),
        ("bs=4KiB", "x.fio:2: bs=4KiB stays 4000 bytes, as in fio; write 4K for powers of 1024"),
        ("bs=4k\nbs=8k", "x.fio:3: duplicate bs in [a]; the last one counts"),
        ("[b]\n[global]\nbs=4k", "x.fio:3: [global] is ignored: no job follows"),
    ],
)
def test_what_is_changed_is_reported(option: str, message: str) -> None:
    text = in_job(option) if "[" not in option else "[a]\n" + option
    assert message in said(imported(text))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            in_job("include common.fio"),
            "x.fio:2: 'include common.fio': include is not supported; insert",
        ),
        (
            in_job("exec_prerun=ls"),
            "x.fio:2: 'exec_prerun' is not allowed in a profile: profiles cannot run commands",
        ),
        (
            in_job("wait_for=b"),
            "x.fio:2: 'wait_for' is not allowed in a profile: one fio process runs one step",
        ),
        (
            in_job("rw=randraed").replace("rw=randread\n", ""),
            "x.fio:2: rw: found 'randraed' (did you mean",
        ),
        (in_job("iodepth=deep"), "x.fio:2: iodepth: found 'deep'; allowed: a whole number"),
        (
            in_job("numjobs=$ncpus"),
            "x.fio:2: numjobs: $ncpus differs between hosts; write a number",
        ),
        (
            in_job("description=${GONE}"),
            "x.fio:2: ${GONE} is not set in the environment; set it for the import",
        ),
        (in_job("kb_base=1000"), "x.fio:2: kb_base: found '1000'; allowed: 1024"),
        (
            in_job("create_only=1"),
            "x.fio:2: create_only: found '1'; allowed: 0: 1 measures nothing",
        ),
        (
            in_job("ramp_time=1h30m"),
            "x.fio:2: ramp_time: found '1h30m', which fio misreads; write 5400s",
        ),
        (
            "[a]\ndirectory=data\nrw=read\nsize=1m\n",
            "x.fio:2: directory: found 'data'; expected an absolute path",
        ),
        (
            "rw=read\n",
            (
                "x.fio:1: found 'rw=read' before the first section; start with [global] or a job name"
            ),
        ),
        ("[a\nrw=read\n", "x.fio:1: found '[a'; expected a section as [name]"),
        ("[a]\n=4k\n", "x.fio:2: found '=4k'; expected an option as name=value, or name alone"),
        ("[a]\nbs=4\x00k\n", "x.fio:2: the character U+0000 is not allowed in a job file"),
        ("", "x.fio:1: the file has no jobs; expected 1 to 1000 job sections"),
        ("[global]\nrw=read\n", "x.fio:1: the file has no jobs; expected 1 to 1000 job sections"),
    ],
)
def test_what_has_no_place_in_a_profile_is_named_with_its_line(text: str, message: str) -> None:
    assert refusal(text).startswith(message)


def test_all_mistakes_come_at_once() -> None:
    text = "[a]\nexec_prerun=ls\nrw=foo\n[b]\nwait_for=a\n"
    assert [line.split(": ")[0] for line in refusal(text).splitlines()] == [
        "x.fio:2",
        "x.fio:3",
        "x.fio:5",
    ]


@pytest.mark.parametrize(
    ("file", "tag"),
    [
        ("jobs/Seq Read.fio", "my/seq-read"),
        ("../-.fio", "my/imported"),
        ("/a/b_c.1.job", "my/b_c.1"),
    ],
)
def test_the_name_of_the_file_is_the_name_of_the_profile(file: str, tag: str) -> None:
    assert default_tag(file) == tag


def test_a_name_that_is_no_tag_is_refused() -> None:
    with pytest.raises(UsageError, match="profile name 'X': expected family/name in lower case"):
        import_job(ONE, "x.fio", "X")


SECRET_JOB = """\
[global]
ioengine=http
http_host=${SERVER}
http_s3_keyid=${S3_ID}
http_s3_key=${S3_KEY}
filename=/bucket/object
size=1M
[a]
rw=write
"""


def test_what_may_be_a_secret_stays_a_reference_whether_it_is_set_or_not() -> None:
    for environ in (
        {"SERVER": "h:9000"},
        {"SERVER": "h:9000", "S3_KEY": "geheim", "S3_ID": "me-myself"},
    ):
        found = import_job(SECRET_JOB, "s3.fio", "my/s3", environ)
        ((_, text),) = found.profiles
        assert "geheim" not in text + str(found.messages)
        assert "me-myself" not in text
        profile = load_profile(text, "s3.yaml")
        assert (profile.params["s3_key"].kind, profile.params["s3_key"].default) == (
            "secret",
            "${S3_KEY}",
        )
        assert profile.params["server"].default == "h:9000"
        job = render(profile, resolve_params(profile, {}), "h1", 1, None)
        assert "http_s3_key=${S3_KEY}\n" in job, "fio itself puts the value in"
        told = "${S3_KEY} is kept: each launch reads it from the environment or asks for it"
        assert [m.line for m in found.messages if m.message == told] == [5]
