"""A job cannot make a host run a command or overwrite a file that the plan does not name."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui.model.problem import UsageError
from tui.model.profile import resolve_params
from tui.model.profile_load import load_profile
from tui.workloads.fio.body import resolve_options
from tui.workloads.fio.jobimport import import_job
from tui.workloads.fio.option_table import by_name, canonical

LOGS = ("write_iolog", "write_bw_log", "write_lat_log", "write_iops_log", "write_hist_log")
UNSEEN = [
    *(f"{name}={path}" for name in LOGS for path in ("/etc/x", "../x", "a/../../x", "${HOME}")),
    "read_iolog=/etc/x", "read_iolog=id|", "replay_redirect=/dev/sda", "merge_blktrace_file=/etc/x", "profile=act",
    "libblkio_path=/dev/sda", "iomem=mmap:/etc/x", "mem=mmap:/etc/x", "iomem=mmaphuge:/etc/x",
    "iomem=mmapshared:/etc/x", "cgroup=../../etc/x", "cgroup=a/../..", "ioengine=exec", "exec_prerun=id",
    "exec_postrun=id", "include /etc/fio/more.fio",
]  # fmt: skip


def job(option: str) -> str:
    return f"[a]\nrw=write\nsize=1m\ndirectory=/mnt/x\n{option}\n"


def imported(option: str) -> str:
    return import_job(job(option), "x.fio", "my/x", {"HOME": "/root"}).profiles[0][1]


def extra(name: str, value: str) -> str:
    return (
        "profile: my/x\nheadline: {direction: write, metric: iops}\n"
        "tool: fio\ntitle: x\nfio:\n  global: {directory: /mnt/x, size: 1m, rw: write}\n"
        f"  jobs: {{a: {{{name}: '{value}'}}}}\n  extra_options: [{name}]\n"
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


@pytest.mark.parametrize("option", ["write_bw_log=seq", "iomem=mmap", "mem=shmhuge", "cgroup=bench/a"])
def test_plain_names_are_taken(option: str) -> None:
    assert option.partition("=")[2] in imported(option)


def test_an_engine_in_a_file_is_named_as_code_that_hosts_run() -> None:
    said = import_job(job("ioengine=external:/tmp/x.so"), "x.fio", "my/x").messages
    assert [each.line for each in said if "external:/tmp/x.so" in each.message] == [5]


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
    text = extra("write_bw_log", "{log}").replace("fio:\n", "params: {log: {kind: text, default: seq}}\nfio:\n", 1)
    profile = load_profile(text, "x.yaml")
    with pytest.raises(UsageError, match="plain name"):
        resolve_options(profile, resolve_params(profile, {"log": "/etc/x"}), "local", 1)
