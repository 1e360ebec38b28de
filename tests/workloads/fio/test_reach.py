"""A job cannot make a host run a command or overwrite a file that the plan does not name."""

from __future__ import annotations

import json
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui.engine.inputs.profiles import Catalogue
from tui.engine.plan.plan import Choices, build_plan
from tui.engine.preflight.destroy import unnamed_devices
from tui.model.address import HostAddress
from tui.model.plan import Plan
from tui.model.problem import UsageError
from tui.model.profile import resolve_params
from tui.model.profile_load import load_profile
from tui.workloads.fio import option_table
from tui.workloads.fio.body import resolve_options
from tui.workloads.fio.jobimport import import_job
from tui.workloads.fio.option_table import (
    ACCESS,
    OWN,
    PLACES,
    TARGETS,
    UNSEEN_ENGINES,
    by_name,
    canonical,
    table,
)  # fmt: skip

Reach = Literal["load", "places", "targets", "access", "own", "refused"]
"""Kinds of access. load: shapes the I/O. places: files and devices, listed in the plan. targets:
images, pools and URLs outside the host's file systems, also listed in the plan. access: connection
and login of an engine. own: a name in the private directory where benchtui starts fio, or in the
control groups. refused: everything else.
"""
TEXTS_OF_LOAD = (
    "description", "name", "wait_for", "bssplit", "percentage_sequential", "verifysort",
    "verifysort_nr",
    "verify_pattern", "buffer_pattern", "verify_async_cpus", "replay_skip", "plids", "rwmixcycle",
    "comm",
    "cpus_allowed", "numa_cpu_nodes", "numa_mem_policy", "log_compression_cpus", "ignore_error",
    "flow_watermark",
    "cmdprio_bssplit", "write_mode", "pi_chk", "ioengine", "mem",
)  # fmt: skip
TARGET_OPTIONS = frozenset(name for names in TARGETS.values() for name in names) - frozenset(
    PLACES
)
CLASSES: dict[str, Reach] = {
    **dict.fromkeys(TEXTS_OF_LOAD, "load"),
    **dict.fromkeys(ACCESS, "access"),
    **dict.fromkeys(TARGET_OPTIONS, "targets"),
    **dict.fromkeys(PLACES, "places"),
    **dict.fromkeys(OWN, "own"),
    **dict.fromkeys((*option_table.UNSEEN, "exec_prerun", "exec_postrun"), "refused"),
}


def reach_of(name: str, kind: str) -> Reach | None:
    """Return what an option can access, by fio's own name; None if unknown.

    `kind` is its type in the table.
    """
    found = CLASSES.get(name)
    return found or (None if kind == "text" else "load")


LOGS = ("write_iolog", "write_bw_log", "write_lat_log", "write_iops_log", "write_hist_log")
UNSEEN = [
    *(f"{name}={path}" for name in LOGS for path in ("/etc/x", "../x", "a/../../x", "${HOME}")),
    "read_iolog=/etc/x", "read_iolog=id|", "replay_redirect=/dev/sda", "merge_blktrace_file=/etc/x",
    "profile=act",
    "libblkio_path=/dev/sda", "iomem=mmap:/etc/x", "mem=mmap:/etc/x", "iomem=mmaphuge:/etc/x",
    "iomem=mmapshared:/etc/x", "cgroup=../../etc/x", "cgroup=a/../..", "ioengine=exec",
    "exec_prerun=id",
    "exec_postrun=id", "include /etc/fio/more.fio", "verify_pattern='/etc/x'",
    "buffer_pattern=0xff'/etc/x'",
    "ioscheduler=none", "verify_state_load=1", "allow_mounted_write=1", "cgroup_nodelete=1",
    "donorname=/etc/x",
    "dp_scheme=/etc/x", "libblkio_pre_connect_props=path=/dev/sda", "ioengine=pmemblk",
    "ioengine=libblkio",
]  # fmt: skip

ENGINES_OF_FILES = (
    "sync", "psync", "vsync", "pvsync", "pvsync2", "libaio", "aio", "linuxaio", "io_uring",
    "io_uring_cmd", "posixaio", "mmap", "splice", "falloc", "ftruncate", "e4defrag", "filecreate",
    "filestat", "filedelete", "dircreate", "dirstat", "dirdelete", "dev-dax", "libpmem", "sg",
    "mtd", "libzbc", "xnvme", "libcufile", "libhipfile", "ime_aio", "ime_psync", "ime_psyncv",
    "windowsaio", "solarisaio",
)  # fmt: skip
ENGINES_OF_NOTHING = ("null", "cpuio", "page_fault")
ENGINES_OF_NETWORKS = ("net", "netsplice", "rdma")  # what they send is stored nowhere
CLASSED = {
    *ENGINES_OF_FILES, *ENGINES_OF_NETWORKS, *ENGINES_OF_NOTHING, *TARGETS, *UNSEEN_ENGINES
}  # fmt: skip


def job(option: str) -> str:
    return f"[a]\nrw=write\nsize=1m\ndirectory=/mnt/x\n{option}\n"


def imported(option: str) -> str:
    return import_job(job(option), "x.fio", "my/x", {"HOME": "/root"}).profiles[0][1]


def extra(name: str, value: str) -> str:
    return (
        "profile: my/x\nheadline: {direction: write, metric: iops}\n"
        "tool: fio\ntitle: x\nfio:\n  global: {directory: /mnt/x, size: 1m, rw: write}\n"
        f"  jobs: {{a: {{{name}: {json.dumps(value)}}}}}\n  extra_options: [{name}]\n"
    )


@pytest.mark.parametrize("option", UNSEEN)
def test_an_import_refuses_with_the_line_what_reaches_beyond_the_plan(option: str) -> None:
    with pytest.raises(UsageError) as caught:
        imported(option)
    assert {(each.file, each.line) for each in caught.value.problems} == {("x.fio", 5)}


@given(st.sampled_from(LOGS), st.text("ab./", min_size=1).filter(lambda text: "/" in text))
def test_no_log_of_an_import_has_a_path(name: str, path: str) -> None:
    with pytest.raises(UsageError):
        imported(f"{name}={path}")


@pytest.mark.parametrize(
    "option", ["write_bw_log=seq", "iomem=mmap", "mem=shmhuge", "cgroup=bench/a"]
)
def test_plain_names_are_taken(option: str) -> None:
    assert option.partition("=")[2] in imported(option)


@pytest.mark.parametrize(
    "option", ["aux-path=/etc", "brand_new=/etc/x", "verify_state_save_to=/etc/x"]
)
def test_an_import_refuses_an_unknown_option_with_its_line(option: str) -> None:
    with pytest.raises(UsageError) as caught:
        imported(option)
    assert [
        (each.line, "unknown fio option" in each.message) for each in caught.value.problems
    ] == [(5, True)]


def test_an_engine_in_a_file_is_named_as_code_that_hosts_run() -> None:
    said = import_job(job("ioengine=external:/tmp/x.so\nimage=img"), "x.fio", "my/x").messages
    assert [each.line for each in said if "external:/tmp/x.so" in each.message] == [5]


ELSEWHERE = {
    "rbd": "rbdname=img", "nbd": "uri=nbd://h/img", "rados": "pool=p",
    "libhdfs": "hdfsdirectory=/x", "gfapi": "volume=v", "nfs": "nfs_url=nfs://h/x", "dfs": "cont=c",
    "libiscsi": "filename=iscsi\\://h/x/0",
    "external:/opt/spdk/fio_plugin": "filename=trtype=PCIe traddr=0000.04.00.0",
}  # fmt: skip


@pytest.mark.parametrize("engine", ELSEWHERE)
def test_what_an_engine_writes_past_the_hosts_files_is_named_in_the_plan(engine: str) -> None:
    bare = f"[a]\nrw=write\nsize=1m\nioengine={engine}\n"
    with pytest.raises(UsageError) as caught:
        import_job(bare, "x.fio", "my/x")
    assert [each.line for each in caught.value.problems] == [4]
    assert import_job(bare.replace("rw=write", "rw=read"), "x.fio", "my/x").profiles, (
        "nothing is overwritten"
    )
    ((_, text),) = import_job(f"{bare}{ELSEWHERE[engine]}\n", "x.fio", "my/x").profiles
    plan = planned(text)
    assert unnamed_devices(plan) == [ELSEWHERE[engine].partition("=")[2]], (
        "somebody has to name it, to have it written"
    )


def planned(text: str) -> Plan:
    path = Path(tempfile.mkdtemp()) / "x.yaml"
    path.write_text(text)
    try:
        return build_plan(Catalogue(path.parent).load(str(path)), Choices([HostAddress("h1")]))
    finally:
        shutil.rmtree(path.parent)


def test_every_option_and_engine_of_the_table_has_a_class() -> None:
    of_all = {**table()["engine_options"], **table()["options"]}
    assert [name for name, each in of_all.items() if reach_of(name, each["type"]) is None] == []
    assert [
        engine for engine in table()["engines"] if engine != "external" and engine not in CLASSED
    ] == []


def said_by_fio(word: str) -> list[str]:
    """The lines of what fio says of itself; of an engine without options it is an error to ask."""
    return subprocess.run(
        ["fio", word], capture_output=True, text=True, check=False
    ).stdout.splitlines()


def options_of(word: str) -> list[str]:
    return [line.partition(":")[0].strip() for line in said_by_fio(word) if ":" in line]


@pytest.mark.skipif(shutil.which("fio") is None, reason="no fio on this machine")
def test_every_option_and_engine_of_the_fio_that_is_here_has_a_class() -> None:
    engines = [line.strip() for line in said_by_fio("--enghelp") if line.startswith("\t")]
    assert len(engines) > 10
    own = {name for engine in engines for name in options_of(f"--enghelp={engine}")}
    options = {*options_of("--cmdhelp=all"), *own}
    assert len(options) > 200
    known = by_name()
    assert [name for name in sorted(options) if name not in known] == []
    assert [
        name for name in sorted(options) if reach_of(canonical(name), known[name]["type"]) is None
    ] == []
    assert [engine for engine in engines if engine not in CLASSED] == []


@pytest.mark.parametrize("option", [each for each in UNSEEN if "=" in each and "$" not in each])
def test_passing_an_option_on_does_not_lift_the_refusal(option: str) -> None:
    name, _, value = option.partition("=")
    assert canonical(name) in by_name()
    with pytest.raises(UsageError) as caught:
        load_profile(extra(name, value), "x.yaml")
    assert [name in each.message for each in caught.value.problems] == [True]


def test_an_unknown_option_is_still_passed_on() -> None:
    assert load_profile(extra("brand_new", "/etc/x"), "x.yaml").profile == "my/x"


def test_a_value_set_for_a_run_is_refused_too() -> None:
    text = extra("write_bw_log", "{log}").replace(
        "fio:\n", "params: {log: {kind: text, default: seq}}\nfio:\n", 1
    )
    profile = load_profile(text, "x.yaml")
    with pytest.raises(UsageError, match="log name without a path"):
        resolve_options(profile, resolve_params(profile, {"log": "/etc/x"}), "local", 1)
