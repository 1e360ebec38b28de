"""Jobs without a profile: ``key=value`` terms, and the profile that they make."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui import workloads
from tui.engine.inputs.profiles import Catalogue, LoadedProfile
from tui.engine.inputs.terms import made_profile, make_profile, parse_terms, tool_of_words
from tui.engine.plan.plan import Choices, build_plan
from tui.model.address import HostAddress
from tui.model.load_keys import load_keys
from tui.model.plain import states_figure
from tui.model.plan import Plan
from tui.model.problem import UsageError
from tui.workloads.terms import command_in, joined_values, other_names, split_values

FIO = workloads.get("fio")
VALUES = st.text(
    st.characters(min_codepoint=33, max_codepoint=126, exclude_characters="\\"), min_size=1
)


def job(*words: str, tool: str = "fio") -> LoadedProfile:
    return make_profile(Catalogue(Path("/nowhere")), tool, words)


def plan(*words: str, tool: str = "fio") -> Plan:
    return build_plan(job(*words, tool=tool), Choices(hosts=[HostAddress(name="h1")]))


def refusal(*words: str, tool: str = "fio") -> str:
    with pytest.raises(UsageError) as caught:
        job(*words, tool=tool)
    told = str(caught.value)
    assert "\n" not in told
    return told


@given(st.lists(VALUES, min_size=1))
def test_a_list_of_values_is_read_as_it_was_written(values: list[str]) -> None:
    assert list(split_values(joined_values(values))) == values


@pytest.mark.parametrize("sizes", ["bssplit=4k/60:256k/40", "bsrange=4k-64k"])
def test_mixed_sizes_replace_the_default_block_size(sizes: str) -> None:
    made = job("rw=randread", sizes, "directory=/mnt/weka").profile
    assert made.profile == f"fio/randread-{sizes.partition('=')[0]}"
    assert sizes in made.title
    assert "bs" not in made.params


@given(
    numjobs=st.lists(st.integers(1, 64), min_size=1, max_size=3, unique=True),
    iodepth=st.lists(st.integers(1, 256), min_size=1, max_size=3, unique=True),
    bs=st.lists(
        st.sampled_from(("512", "4k", "8k", "64k", "1m")), min_size=1, max_size=3, unique=True
    ),
    rw=st.sampled_from(("randread", "randwrite", "randrw", "read", "write", "rw")),
)
def test_the_command_in_a_profile_makes_the_same_profile(
    numjobs: list[int], iodepth: list[int], bs: list[str], rw: str
) -> None:
    words = [
        f"rw={rw}", f"bs={','.join(bs)}", f"numjobs={','.join(map(str, numjobs))}",
        f"iodepth={','.join(map(str, iodepth))}", "directory=/mnt/a b",
    ]  # fmt: skip
    made = job(*words)
    again = command_in(made.text)
    assert again[:3] == ["benchtui", "run", "fio"]
    assert job(*again[3:]).text == made.text
    assert shlex.split(shlex.join(again)) == again


@pytest.mark.parametrize(
    ("words", "terms"),
    [
        (["4k,64k", "random", "read", "x8"], ["rw=randread", "bs=4k,64k", "numjobs=8"]),
        (["4k random read"], ["rw=randread", "bs=4k"]),
        (
            ["70/30", "bs=8k", "rate_iops=500"],
            ["rw=randrw", "rwmixread=70", "bs=8k", "rate_iops=500"],
        ),
    ],
)
def test_words_make_the_same_job_as_their_keys(words: list[str], terms: list[str]) -> None:
    made, same = job(*words, "/mnt/a b"), job(*terms, "directory=/mnt/a b")
    assert (made.profile, load_keys(made.text)) == (same.profile, load_keys(same.text))


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (["4k", "random", "read", "/mnt/a b"], ("fio", ["4k", "random", "read", "/mnt/a b"])),
        (["4k random read", "numjobs=2"], ("fio", ["4k", "random", "read", "numjobs=2"])),
        (["1m", "write", "ior"], ("ior", ["1m", "write"])),
        (["4k", "randread", "foo"], ("fio", ["4k", "randread", "foo"])),
        (["70/30", "8k", "/mnt/a"], ("fio", ["70/30", "8k", "/mnt/a"])),
        (["weka/read-iops", "4k"], None),
        (["foi", "4k", "randread"], None),
        (["bs=4k", "randread"], None),
        (["quick"], None),
    ],
)
def test_words_that_begin_with_the_job_need_no_load_generator(
    words: list[str], found: tuple[str, list[str]] | None
) -> None:
    assert tool_of_words(words) == found


def test_two_sizes_name_the_key_that_the_second_may_be_for() -> None:
    told = refusal("4k", "randread", "8M", "/mnt")
    assert "8M files" in told
    assert "size=8M" in told


def test_a_mistyped_time_is_suggested() -> None:
    assert "10s or x10" in refusal("4k", "randread", "10x", "/mnt")


def test_every_combination_of_the_values_is_a_step() -> None:
    found = plan("rw=randread", "bs=4k,64k", "numjobs=1,8", "directory=/mnt/weka")
    assert [(step.point["bs"], step.point["numjobs"]) for step in found.steps] == [
        (4096, 1), (4096, 8), (65536, 1), (65536, 8)
    ]  # fmt: skip


def test_the_defaults_give_a_first_number() -> None:
    task = plan("directory=/mnt/weka").steps[0].tasks[0]
    options = dict(line.partition("=")[::2] for line in task.job_file.splitlines())
    wanted = {
        "rw": "randread", "bs": "4k", "numjobs": "8", "iodepth": "16", "ioengine": "libaio",
        "direct": "1",
        "size": "1G", "runtime": "30s", "ramp_time": "5s", "time_based": "1",
        "directory": "/mnt/weka",
    }  # fmt: skip
    assert {name: options.get(name) for name in wanted} == wanted
    assert len({spec.path for spec in task.files}) == 8, "each job has a file of its own"


def test_hosts_that_share_a_file_system_have_files_of_their_own() -> None:
    made = build_plan(
        job("directory=/mnt/weka"), Choices(hosts=[HostAddress(name="h1"), HostAddress(name="h2")])
    )
    one, other = ({spec.path for spec in task.files} for task in made.steps[0].tasks)
    assert not one & other


@pytest.mark.parametrize(
    ("words", "headline"),
    [
        (["rw=randread"], ("iops", "read")),
        (["rw=randrw"], ("iops", "mixed")),
        (["rw=write"], ("bandwidth", "write")),
        (["rw=randread,randwrite"], ("iops", "mixed")),
        (["rw=randread", "bs=4k,1m"], ("iops", "read")),
    ],
)
def test_the_headline_follows_the_load(words: list[str], headline: tuple[str, str]) -> None:
    found = job(*words, "directory=/mnt/weka").profile.headline
    assert (found.metric, found.direction) == headline


def test_a_queue_depth_of_one_needs_no_asynchronous_engine() -> None:
    assert "ioengine=psync" in plan("iodepth=1", "directory=/x").steps[0].tasks[0].job_file
    assert "iodepth=1\n" in plan("ioengine=psync", "directory=/x").steps[0].tasks[0].job_file
    assert "ioengine=libaio" in plan("iodepth=1,4", "directory=/x").steps[0].tasks[0].job_file


def test_a_device_is_only_written_once_that_is_agreed_to() -> None:
    found = plan("rw=randwrite", "filename=/dev/nvme0n1")
    assert found.allow_device
    assert found.destroy == ()


def test_any_option_of_fio_is_a_term() -> None:
    task = plan("directory=/x", "rate_iops=500", "fdatasync=1", "rw=randwrite").steps[0].tasks[0]
    assert "rate_iops=500" in task.job_file.splitlines()
    assert "fdatasync=1" in task.job_file.splitlines()


def test_a_comma_within_a_value_is_escaped() -> None:
    assert (
        "bs=4k,64k" in plan("directory=/x", r"bs=4k\,64k").steps[0].tasks[0].job_file.splitlines()
    )


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["bss=4k"], "'bs'"),
        (["rw=randreed", "directory=/x"], "'randread'"),
        (["randreed", "/x"], "randreed"),
        (["4k", "8k", "/x"], "4k, 8k"),
        (["4k", "bs=8k", "/x"], "bs="),
        (["4k"], "directory="),
        (["bs=4z", "directory=/x"], "bs=4z"),
        (["bs="], "bs="),
        (["bs=4k", "bs=8k"], "bs="),
        (["bs=4k,4k", "directory=/x"], "4k"),
        (["rw=read"], "directory="),
        (["directory=/x", "filename=/y"], "only one of"),
        (["directory=x"], "directory=x"),
        (["directory=/x", "ioengine=libaioo"], "'libaio'"),
        (["directory=/x", "output=f"], "'output'"),
        (["directory=/x", "bs=4k", "blocksize=8k"], "'blocksize'"),
    ],
)
def test_a_wrong_term_is_named_in_one_line(words: list[str], named: str) -> None:
    assert named in refusal(*words)


def test_mdtest_takes_terms_too() -> None:
    found = plan(
        "ranks=4,8", "items=100", "options=-F -u -w 3901", "directory=/mnt/weka", tool="mdtest"
    )
    assert [step.mpi and step.mpi.ranks_per_host for step in found.steps] == [4, 8]
    assert job("options=-F -w 3901", "directory=/x", tool="mdtest").profile.body.options == [
        "-F",
        "-w 3901",
    ]


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["rnks=4"], "'ranks'"),
        (["ranks=0"], "ranks=0"),
        (["options=-d /x"], "-d"),
        ([], "directory="),
    ],
)
def test_a_wrong_term_of_mdtest_is_named(words: list[str], named: str) -> None:
    assert named in refusal(*words, tool="mdtest")


def test_ior_takes_terms_too() -> None:
    found = plan(
        "ranks=4,8", "transfer=64k", "block=16m", "directory=/mnt/weka", "options=-g", tool="ior"
    )
    assert [step.mpi and step.mpi.ranks_per_host for step in found.steps] == [4, 8]
    assert "-a POSIX -t 65536 -b 16777216 -s 1 -w -r -F -e -C -g" in " ".join(
        found.steps[0].tasks[0].argv
    )
    both = plan("phases=write,read", "directory=/x", tool="ior").steps
    assert [step.directions for step in both] == [["write", "read"]], (
        "its comma is no list of values"
    )


@pytest.mark.parametrize(
    ("words", "named"),
    [(["options=-k"], "-k cannot be used"), (["block=1"], "block"), ([], "directory=")],
)
def test_a_wrong_term_of_ior_is_named(words: list[str], named: str) -> None:
    with pytest.raises(UsageError, match=named):
        plan(*words, *(["directory=/x"] if words else []), tool="ior")


def test_a_saved_job_has_the_name_that_was_given() -> None:
    text = made_profile(FIO, parse_terms(FIO, ["bs=4k,64k", "directory=/mnt/weka"]), "my/blocks")
    loaded = Catalogue(Path("/nowhere")).load_text(text, Path("x"))
    assert loaded.profile.profile == "my/blocks"
    assert command_in(text) == [], "who edits it changes what it runs"


def test_a_job_that_is_no_file_can_be_chosen() -> None:
    catalogue = Catalogue(Path("/nowhere"))
    made = job("directory=/x")
    assert catalogue.load(catalogue.keep_job(made.text)).sha256 == made.sha256


@given(
    numjobs=st.lists(st.integers(1, 64), min_size=1, max_size=3, unique=True),
    bs=st.sampled_from(("512", "4k", "64k", "1m")),
    rw=st.sampled_from(("randread", "randrw", "write", "read,write")),
)
def test_the_title_of_a_saved_profile_states_no_value_of_a_parameter(
    numjobs: list[int], bs: str, rw: str
) -> None:
    words = [f"rw={rw}", f"bs={bs}", f"numjobs={','.join(map(str, numjobs))}", "directory=/mnt/a"]
    profile = make_profile(Catalogue(Path("/nowhere")), "fio", words, "my/saved").profile
    assert profile.title and not states_figure(profile.title)


@given(st.permutations(["rw=randread", "bs=4k", "numjobs=8", "iodepth=16", "directory=/mnt/a"]))
def test_the_order_of_terms_and_named_defaults_do_not_change_the_load(words: list[str]) -> None:
    few = job("rw=randread", "directory=/mnt/a")
    assert load_keys(job(*words).text) == load_keys(few.text)


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("ramp=0", "ramp_time=0"),
        ("jobs=2", "numjobs=2"),
        ("qd=4,8", "iodepth=4,8"),
        ("queue_depth=4", "iodepth=4"),
        ("time=10s", "runtime=10s"),
    ],
)
def test_a_key_may_be_what_the_form_or_people_call_it(typed: str, meant: str) -> None:
    fio = workloads.get("fio")
    assert parse_terms(fio, [typed]) == parse_terms(fio, [meant])
    with pytest.raises(UsageError, match="given twice"):
        parse_terms(fio, [typed, meant])


@pytest.mark.parametrize("tool", ["fio", "mdtest", "ior"])
def test_a_name_of_an_option_is_never_taken_for_another_key(tool: str) -> None:
    terms = workloads.get(tool).from_terms()
    called = other_names(terms.job_terms(), terms.term_names())
    assert not called.keys() & set(terms.term_names())
    assert set(called.values()) <= {term.name for term in terms.job_terms()}
