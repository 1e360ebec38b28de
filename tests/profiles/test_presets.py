"""The presets are the published workloads: every option, to the letter, and fio takes them."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from tests.e2e.command import benchtui
from tests.profiles.catalogue import (
    ADDED,
    DERIVED,
    DERIVED_JOBS,
    METADATA,
    OTHERS,
    PUBLISHED,
    SUITES,
    VITASTOR,
    WORKLOADS,
    Options,
)
from tui.engine.inputs.profile_texts import OTHER, group_of, groups
from tui.engine.inputs.profiles import Catalogue, LoadedProfile
from tui.engine.plan.plan import Choices, build_plan
from tui.model.address import HostAddress
from tui.model.paths import presets_dir
from tui.model.profile import Profile, parse_param, resolve_params, value_text
from tui.model.profile_load import load_profile
from tui.model.profile_parts import grid_points
from tui.model.quantities import parse_size
from tui.workloads.fio.body import resolve_options
from tui.workloads.fio.jobfile import render

NO_USER = Path("/nonexistent")
OWN = Path(__file__).parents[1] / "data" / "profiles" / "mix-70-30.yaml"
CATALOGUE = Catalogue(NO_USER)
FIO = [*WORKLOADS, "demo/quick"]
ROUNDED = 0.03  # sizes of derived presets: 8 KiB for 8,000 bytes
ON_IMAGES = [tag for tag in VITASTOR if "image" in VITASTOR[tag].options]


def loaded(tag: str) -> LoadedProfile:
    return CATALOGUE.load(tag)


def preset(tag: str) -> Profile:
    return loaded(tag).profile


def jobs_of(tag: str, host: str = "h1", index: int = 1) -> dict[str, Options]:
    """Each job of the job file as fio reads it: what holds for it, [global] under its own."""
    profile = preset(tag)
    text = render(profile, resolve_params(profile, {}), host, index, 7)
    sections: dict[str, Options] = {}
    for line in (line for line in text.splitlines() if line and not line.startswith(";")):
        if line.startswith("["):
            section = sections.setdefault(line.strip("[]"), {})
        else:
            name, _, value = line.partition("=")
            section[name] = value
    shared = sections.pop("global")
    return {name: {**shared, **own} for name, own in sections.items()}


def rendered(tag: str) -> tuple[str, Options]:
    """The one job of a preset: its name, and what holds for it."""
    ((job, options),) = jobs_of(tag).items()
    return job, options


def test_these_are_the_presets() -> None:
    entries = CATALOGUE.list()
    assert [entry.tag for entry in entries] == sorted([*WORKLOADS, *SUITES, *OTHERS])
    assert not [entry.error for entry in entries if entry.error]


def test_a_preset_is_listed_by_what_it_measures() -> None:
    found = {entry.tag: group_of(entry.tag, preset=True) for entry in CATALOGUE.list()}
    assert not [tag for tag, group in found.items() if group == OTHER]
    assert set(found.values()) == set(groups())


def test_a_preset_lies_where_its_tag_says() -> None:
    for entry in CATALOGUE.list():
        assert entry.path == presets_dir() / f"{entry.tag}.yaml"


@pytest.mark.parametrize("tag", WORKLOADS)
def test_a_preset_renders_to_what_was_published(tag: str) -> None:
    workload = WORKLOADS[tag]
    assert rendered(tag) == (workload.job, {**ADDED, "randseed": "7", **workload.options})


@pytest.mark.parametrize("tag", WORKLOADS)
def test_the_headline_is_what_the_workload_is_about(tag: str) -> None:
    headline = preset(tag).headline
    assert (headline.metric, headline.direction, headline.percentile) == WORKLOADS[tag].headline


@pytest.mark.parametrize("tag", WORKLOADS)
def test_clients_caches_and_latency_are_those_of_the_source(tag: str) -> None:
    profile, workload = preset(tag), WORKLOADS[tag]
    assert profile.hosts.published == workload.clients
    assert (profile.drop_caches, profile.latency) == (workload.caches, workload.latency)


@pytest.mark.parametrize("tag", WORKLOADS)
def test_a_sweep_goes_over_the_points_of_the_source(tag: str) -> None:
    profile = preset(tag)
    measured = [] if profile.sweep is None else grid_points(profile.sweep)
    assert [
        {
            name: value_text(profile.params[name].kind, parse_param(profile.params[name], value))
            for name, value in point.items()
        }
        for point in measured
    ] == list(WORKLOADS[tag].points)


@pytest.mark.parametrize("tag", SUITES)
def test_a_suite_is_its_profiles_in_order(tag: str) -> None:
    assert [member.profile for member in preset(tag).members] == SUITES[tag]


@pytest.mark.parametrize("tag", SUITES)
def test_a_suite_changes_nothing_of_its_profiles_unasked(tag: str) -> None:
    """What it sets by default is what they have by themselves.

    A directory of its own stands for theirs.
    """
    suite = loaded(tag)
    own = {name: value_text(suite.profile.params[name].kind, value)
           for name, value in resolve_params(suite.profile, {}).items()}  # fmt: skip
    for member in suite.profile.members:
        profile = suite.members[member.profile].profile
        given = {name: str(value).format(**own) for name, value in member.set.items()}
        assert resolve_params(profile, given) == resolve_params(profile, {})


def test_mapr_client_i_has_file_h_i() -> None:
    profile = preset("mapr/nfs-randwrite-256k-4c")
    values = resolve_params(profile, {})
    files = [
        resolve_options(profile, values, f"client-{n}", n)[0]["filename"] for n in (1, 2, 3, 4)
    ]
    assert files == [f"/mapr/my.cluster.com/hdd/h{n}" for n in (1, 2, 3, 4)]


@pytest.mark.parametrize(
    ("hosts", "threads"), [(1, ["12"]), (3, ["4", "4", "4"]), (5, ["3", "3", "2", "2", "2"])]
)
def test_vitastor_threads_are_the_total_over_all_hosts(hosts: int, threads: list[str]) -> None:
    profile = preset("vitastor/read-4k-t12q128")
    values = resolve_params(profile, {})
    jobs = [
        resolve_options(profile, values, f"h{n}", n, hosts)[1]["test"]["numjobs"]
        for n in range(1, hosts + 1)
    ]
    assert jobs == threads


def test_the_regions_of_aerodisk_s_jobs_do_not_overlap() -> None:
    for tag in ("aerodisk/seqread-128k", "aerodisk/seqwrite-128k"):
        values = resolve_params(preset(tag), {})
        assert int(values["numjobs"]) * int(values["region"]) <= 100


def test_the_demo_is_ten_seconds_on_64_mib() -> None:
    _, job = rendered("demo/quick")
    assert (job["rw"], job["rwmixread"], job["bs"], job["runtime"]) == ("randrw", "70", "4k", "10s")
    assert parse_size(job["size"]) * int(job["numjobs"]) == 64 << 20
    assert (job["directory"], job["direct"]) == ("/var/tmp", "1")
    assert job["filename_format"].startswith("benchtui-demo.")
    assert preset("demo/quick").prepare.cleanup


@pytest.mark.parametrize("tag", FIO)
def test_files_are_laid_out_unless_one_says_no(tag: str) -> None:
    profile = preset(tag)
    layout = profile.prepare.layout
    wanted = layout is True or resolve_params(profile, {}).get(str(layout).strip("{}")) is True
    assert wanted == (tag == "demo/quick" or WORKLOADS[tag].layout)


@pytest.mark.parametrize("tag", PUBLISHED)
def test_a_published_workload_names_its_source_and_what_differs(tag: str) -> None:
    profile = preset(tag)
    assert profile.source is not None
    assert profile.source.section
    assert {deviation.what for deviation in profile.deviations} >= {"layout", "randseed"}


def test_what_no_source_says_is_declared() -> None:
    kinds = {
        (tag, each.what): each.kind
        for tag in (*PUBLISHED, "weka/all")
        for each in preset(tag).deviations
    }
    expected = {
        ("ceph/randread", "ioengine"): "defaulted",
        ("ceph/randread", "iodepth"): "defaulted",
        ("ceph/randread-60s", "runtime"): "deviation",
        ("aerodisk/oltp-4k-70r30w", "ioengine"): "defaulted",
        ("aerodisk/oltp-4k-70r30w", "numjobs"): "reconstructed",
        ("aerodisk/seqwrite-128k", "offset_increment"): "deviation",
        ("vitastor/linear-read-4m", "threads"): "reconstructed",
        ("vitastor/read-4k-t1q1-file", "ioengine"): "deviation",
        ("vitastor/write-4k-t1q1", "fsync"): "defaulted",
        ("vitastor/raw-randread", "bs"): "reconstructed",
        ("wekatester/mixed-iops", "iodepth"): "defaulted",
        ("wekatester/wekawithin-4k-read", "disable_lat"): "deviation",
    }
    assert expected.items() <= kinds.items()
    assert {each.kind for each in preset("weka/all").deviations} >= {"reconstructed"}


@pytest.mark.parametrize("tag", METADATA)
def test_metadata_without_mpi_says_that_it_is_not_mdtest(tag: str) -> None:
    assert "Not comparable with mdtest" in (preset(tag).description or "")


@pytest.mark.parametrize("tag", [*FIO, *SUITES])
def test_every_parameter_has_its_help(tag: str) -> None:
    assert all(param.help for param in preset(tag).params.values())


@pytest.mark.parametrize("tag", [tag for tag in FIO if tag not in ON_IMAGES])
def test_fio_takes_the_job_file(tag: str, tmp_path: Path) -> None:
    profile = preset(tag)
    folder = tmp_path / "h1"
    folder.mkdir()
    there = {"directory": str(tmp_path)} if "directory" in profile.params else {}
    assert_fio_takes(render(profile, resolve_params(profile, there), "h1", 1, None), tmp_path)


@pytest.mark.parametrize("tag", ON_IMAGES)
def test_fio_takes_the_job_file_of_an_engine_that_is_not_here_but_for_that(
    tag: str, tmp_path: Path
) -> None:
    profile = preset(tag)
    text = render(profile, resolve_params(profile, {"engine": "null"}), "h1", 1, None)
    assert "image=testimg\n" in text
    assert_fio_takes(text.replace("image=testimg\n", ""), tmp_path)


def test_fio_takes_a_mix_of_ones_own(tmp_path: Path) -> None:
    profile = load_profile(OWN.read_text(), str(OWN))
    (tmp_path / "h1").mkdir()
    text = render(profile, resolve_params(profile, {"directory": str(tmp_path)}), "h1", 1, 42)
    assert {
        "rw=randrw",
        "rwmixread=70",
        "direct=0",
        "ioengine=psync",
        f"directory={tmp_path}/h1",
    } <= set(text.split())
    assert_fio_takes(text, tmp_path)


def assert_fio_takes(text: str, folder: Path) -> None:
    job = folder / "job.fio"
    job.write_text(text)
    done = subprocess.run(["fio", "--parse-only", job], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_documentation_names_every_preset() -> None:
    text = (presets_dir().parent / "docs" / "workloads.md").read_text(encoding="utf-8")
    rows = [row.split("|") for row in text.splitlines() if row.startswith("|")]
    named: list[str] = []
    for row in rows:
        family = row[1].strip().strip("`") or (named[-1].partition("/")[0] + "/" if named else "")
        if family.endswith("/"):
            named += [family + name for name in re.findall(r"`([^`]+)`", row[2])]
    assert sorted(named) == [entry.tag for entry in CATALOGUE.list()]


@pytest.mark.parametrize("tag", [*FIO, *SUITES])
def test_a_preset_makes_a_plan_for_three_hosts_with_a_job_file_each(tag: str) -> None:
    hosts = [HostAddress(f"h{number}") for number in (1, 2, 3)]
    plan = build_plan(loaded(tag), Choices(hosts=hosts))
    points = {each: max(1, len(WORKLOADS[each].points)) for each in WORKLOADS}
    assert len(plan.steps) == sum(points.get(each, 1) for each in SUITES.get(tag, [tag]))
    assert all(task.job_file for step in plan.steps for task in step.tasks)
    busy = {len(step.tasks) for step in plan.steps if not step.role}
    assert busy <= ({1, 3} if tag == "vitastor/all" else {1} if "t1q1" in tag else {3})


def test_profiles_check_finds_nothing_wrong(home: Path) -> None:
    files = [entry.path for entry in CATALOGUE.list()]
    done = benchtui(home, "profiles", "check", *files)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.count(": ok (") == len(files)


@pytest.mark.parametrize("tag", ["ceph/randread", "vitastor/all", "weka/all"])
def test_profiles_show_prints_the_job_files(home: Path, tag: str) -> None:
    done = benchtui(home, "profiles", "show", tag, "--fio")
    assert (done.returncode, done.stderr) == (0, "")
    jobs = [WORKLOADS[each].job for each in SUITES.get(tag, [tag]) if each in WORKLOADS]
    assert [
        line.strip("[]")
        for line in done.stdout.splitlines()
        if line in {f"[{job}]" for job in jobs}
    ] == jobs


@pytest.mark.parametrize("tag", DERIVED)
def test_what_is_derived_names_its_source_and_what_that_leaves_open(tag: str) -> None:
    profile = preset(tag)
    assert profile.source is not None and profile.source.document
    assert profile.deviations


@pytest.mark.parametrize("tag", DERIVED)
def test_bytes_and_pattern_of_what_is_derived_follow_from_its_source(tag: str) -> None:
    jobs = jobs_of(tag)
    assert jobs.keys() == DERIVED_JOBS[tag].keys()
    for name, wanted in DERIVED_JOBS[tag].items():
        assert wanted.options.items() <= jobs[name].items()
        sizes = {option: parse_size(jobs[name][option]) for option in wanted.sizes}
        assert sizes == pytest.approx(wanted.sizes, rel=ROUNDED)


@pytest.mark.parametrize("tag", DERIVED)
def test_what_is_derived_is_planned_for_three_hosts_and_fio_takes_it(
    tag: str, tmp_path: Path
) -> None:
    hosts = [HostAddress(f"h{number}", address="127.0.0.1") for number in (1, 2, 3)]
    given = {"directory": str(tmp_path)}
    plan = build_plan(loaded(tag), Choices(hosts=hosts, overrides=given))
    (step,) = plan.steps
    assert len(step.tasks) == 3
    for task in step.tasks:
        (tmp_path / task.host).mkdir()
        assert_fio_takes(task.job_file, tmp_path)


def test_a_checkpoint_is_restored_on_another_host_than_wrote_it() -> None:
    hosts = [HostAddress(name=f"h{number}", address="127.0.0.1") for number in (1, 2, 3)]
    write, restore = build_plan(loaded("ai/checkpoint"), Choices(hosts=hosts)).steps
    written = [[spec.path for spec in task.written] for task in write.tasks]
    read = [[spec.path for spec in task.files] for task in restore.tasks]
    assert read == [written[1], written[2], written[0]]
