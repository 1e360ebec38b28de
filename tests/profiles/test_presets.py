"""The presets are the published workloads: every option, to the letter, and fio takes them."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tui.engine.catalogue import Catalogue, presets_dir
from tui.model.profile import Profile, resolve_options, resolve_params
from tui.model.profile_load import load_profile
from tui.model.quantities import parse_size
from tui.workloads.fio.jobfile import render

NO_USER = Path("/nonexistent")
OWN = Path(__file__).parents[1] / "data" / "profiles" / "mix-70-30.yaml"
TAGS = [
    "demo/quick",
    "mapr/nfs-randread-256k", "mapr/nfs-randread-8k", "mapr/nfs-randwrite-256k", "mapr/nfs-randwrite-256k-4c",
    "mapr/nfs-randwrite-8k",
    "weka/read-iops", "weka/read-latency", "weka/read-throughput", "weka/write-iops", "weka/write-latency",
    "weka/write-throughput",
]  # fmt: skip
# From the commands that were published: rw, bs.
MAPR = {
    "mapr/nfs-randread-8k": ("randread", "8k"),
    "mapr/nfs-randwrite-8k": ("randwrite", "8k"),
    "mapr/nfs-randread-256k": ("randread", "256k"),
    "mapr/nfs-randwrite-256k": ("randwrite", "256k"),
    "mapr/nfs-randwrite-256k-4c": ("randwrite", "256k"),
}
# From the job files that were published: job name, rw, bs, numjobs, filesize, file names.
WEKA = {
    "weka/read-throughput": ("read_throughput", "read", "1m", "32", "128G", "bw"),
    "weka/write-throughput": ("write_throughput", "write", "1m", "32", "128G", "bw"),
    "weka/read-iops": ("read_iops", "randread", "4k", "192", "4G", "iops"),
    "weka/write-iops": ("write_iops", "randwrite", "4k", "192", "4G", "iops"),
    "weka/read-latency": ("read_latency", "randread", "4k", "1", "4G", "iops"),
    "weka/write-latency": ("write_latency", "randwrite", "4k", "1", "4G", "iops"),
}
HEADLINES = {
    "demo/quick": ("iops", "mixed", None),
    "mapr/nfs-randread-8k": ("iops", "read", None),
    "mapr/nfs-randwrite-8k": ("iops", "write", None),
    "mapr/nfs-randread-256k": ("bandwidth", "read", None),
    "mapr/nfs-randwrite-256k": ("bandwidth", "write", None),
    "mapr/nfs-randwrite-256k-4c": ("bandwidth", "write", None),
    "weka/read-throughput": ("bandwidth", "read", None),
    "weka/write-throughput": ("bandwidth", "write", None),
    "weka/read-iops": ("iops", "read", None),
    "weka/write-iops": ("iops", "write", None),
    "weka/read-latency": ("latency", "read", 99.5),
    "weka/write-latency": ("latency", "write", 99.5),
}


def preset(tag: str) -> Profile:
    return Catalogue(NO_USER).load(tag).profile


def options(tag: str, host: str = "h1", index: int = 1) -> tuple[dict[str, str], dict[str, dict[str, str]]]:
    profile = preset(tag)
    return resolve_options(profile, resolve_params(profile, {}), host, index)


def merged(tag: str) -> tuple[str, dict[str, str]]:
    shared, jobs = options(tag)
    ((name, own),) = jobs.items()
    return name, {**shared, **own}


def test_these_are_the_presets() -> None:
    assert [entry.tag for entry in Catalogue(NO_USER).list()] == TAGS
    assert not [entry.error for entry in Catalogue(NO_USER).list() if entry.error]


def test_a_preset_lies_where_its_tag_says() -> None:
    for entry in Catalogue(NO_USER).list():
        assert entry.path == presets_dir() / f"{entry.tag}.yaml"


@pytest.mark.parametrize("tag", MAPR)
def test_mapr_is_the_published_command(tag: str) -> None:
    rw, bs = MAPR[tag]
    assert merged(tag) == (
        "mytest",
        {
            "filename": "/mapr/my.cluster.com/hdd/h1", "direct": "1", "iodepth": "1", "thread": "1", "rw": rw,
            "ioengine": "psync", "bs": bs, "size": "1T", "numjobs": "100", "runtime": "1000s", "group_reporting": "1",
        },
    )  # fmt: skip


def test_mapr_client_i_has_file_h_i() -> None:
    files = [options("mapr/nfs-randwrite-256k-4c", f"client-{n}", n)[0]["filename"] for n in (1, 2, 3, 4)]
    assert files == [f"/mapr/my.cluster.com/hdd/h{n}" for n in (1, 2, 3, 4)]


@pytest.mark.parametrize("tag", MAPR)
def test_mapr_says_how_many_clients_were_published(tag: str) -> None:
    assert preset(tag).hosts.published == (4 if tag.endswith("-4c") else 1)


@pytest.mark.parametrize("tag", WEKA)
def test_weka_is_the_published_job_file(tag: str) -> None:
    name, rw, bs, numjobs, filesize, files = WEKA[tag]
    assert merged(tag) == (
        name,
        {
            "filesize": filesize, "time_based": "1", "numjobs": numjobs, "startdelay": "5", "exitall_on_error": "1",
            "create_serialize": "0", "filename_format": f"$jobnum/$filenum/{files}.$jobnum.$filenum",
            "directory": "/mnt/weka/fio/h1", "group_reporting": "1", "clocksource": "gettimeofday",
            "runtime": "300s", "ioengine": "posixaio", "disk_util": "0", "iodepth": "1",
            "bs": bs, "rw": rw, "direct": "1", "new_group": "1",
        },
    )  # fmt: skip


@pytest.mark.parametrize("tag", WEKA)
def test_weka_drops_caches_and_reports_clat(tag: str) -> None:
    assert (preset(tag).drop_caches, preset(tag).latency) == ("try", "clat")


@pytest.mark.parametrize("tag", HEADLINES)
def test_the_headline_is_what_the_workload_is_about(tag: str) -> None:
    headline = preset(tag).headline
    assert (headline.metric, headline.direction, headline.percentile) == HEADLINES[tag]


def test_the_demo_is_ten_seconds_on_64_mib() -> None:
    _, job = merged("demo/quick")
    assert (job["rw"], job["rwmixread"], job["bs"], job["runtime"]) == ("randrw", "70", "4k", "10s")
    assert parse_size(job["size"]) * int(job["numjobs"]) == 64 << 20
    assert (job["directory"], job["direct"]) == ("/var/tmp", "1")
    assert job["filename_format"].startswith("benchtui-demo.")
    assert preset("demo/quick").prepare.cleanup


@pytest.mark.parametrize("tag", TAGS)
def test_files_are_laid_out_unless_one_says_no(tag: str) -> None:
    profile = preset(tag)
    layout = profile.prepare.layout
    assert layout is True or resolve_params(profile, {})[str(layout).strip("{}")] is True


@pytest.mark.parametrize("tag", [tag for tag in TAGS if not tag.startswith("demo/")])
def test_a_published_workload_names_its_source_and_what_differs(tag: str) -> None:
    profile = preset(tag)
    assert profile.source is not None
    assert profile.source.section
    assert {deviation.what for deviation in profile.deviations} >= {"layout", "randseed"}


@pytest.mark.parametrize("tag", TAGS)
def test_every_parameter_has_its_help(tag: str) -> None:
    assert all(param.help for param in preset(tag).params.values())


@pytest.mark.parametrize("tag", TAGS)
def test_fio_takes_the_job_file(tag: str, tmp_path: Path) -> None:
    profile = preset(tag)
    folder = tmp_path / "h1"
    folder.mkdir()
    assert_fio_takes(render(profile, resolve_params(profile, {"directory": str(tmp_path)}), "h1", 1, None), tmp_path)


def test_fio_takes_a_mix_of_ones_own(tmp_path: Path) -> None:
    profile = load_profile(OWN.read_text(), str(OWN))
    (tmp_path / "h1").mkdir()
    text = render(profile, resolve_params(profile, {"directory": str(tmp_path)}), "h1", 1, 42)
    assert {"rw=randrw", "rwmixread=70", "direct=0", "ioengine=psync", f"directory={tmp_path}/h1"} <= set(text.split())
    assert_fio_takes(text, tmp_path)


def assert_fio_takes(text: str, folder: Path) -> None:
    job = folder / "job.fio"
    job.write_text(text)
    done = subprocess.run(["fio", "--parse-only", job], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
