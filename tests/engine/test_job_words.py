"""A job in a user's words: what is understood, what is not, and that nothing is dropped."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tui import workloads
from tui.engine.inputs.job_words import FILLERS, job_in, read_words, words_for, words_in
from tui.engine.inputs.profiles import Catalogue
from tui.workloads.fio.option_table import table
from tui.workloads.fio.options import DIRECTIONS
from tui.workloads.terms import joined_values

SIZES = ("512", "4k", "8K", "64k", "1m", "1M", "4MiB", "2g", "65536")
COUNTS = ("1", "8", "16", "128")


def values(*each: str) -> st.SearchStrategy[str]:
    """One value, or a list that is measured in turn."""
    return st.lists(st.sampled_from(each), min_size=1, max_size=3, unique=True).map(joined_values)


PATHS = (
    st.text(
        st.characters(min_codepoint=32, max_codepoint=0x17F, exclude_characters="#;$`\\"),
        max_size=12,
    )
    .map(lambda text: joined_values([f"/{text}".rstrip()]))
    .filter(str.isprintable)
)
FIELDS: dict[str, st.SearchStrategy[str]] = {
    "rw": values(*DIRECTIONS),
    "rwmixread": values("0", "30", "50", "70", "100"),
    "bs": values(*SIZES),
    "numjobs": values(*COUNTS),
    "iodepth": values(*COUNTS),
    "ioengine": values("libaio", "io_uring", "psync", "posixaio", "rados"),
    "size": values(*SIZES) | st.just("50%"),
    "runtime": values("30s", "60", "5m", "1h30m", "250ms"),
    "ramp_time": values("0", "5s", "1m"),
    "direct": values("yes", "no"),
    "directory": PATHS,
    "filename": st.sampled_from(("/dev/nvme0n1", "/mnt/weka/file", "/dev/sda,/dev/sdb")),
}
JOBS = st.fixed_dictionaries({}, optional=FIELDS).filter(bool)
SAID = {
    "4k random read": {"rw": "randread", "bs": "4k"},
    "70/30 8k qd16 /mnt/weka": {
        "rw": "randrw", "rwmixread": "70", "bs": "8k", "iodepth": "16", "directory": "/mnt/weka",
    },
    "randwrite 1m x8": {"rw": "randwrite", "bs": "1m", "numjobs": "8"},
    "randwrite 1m 8 x": {"rw": "randwrite", "bs": "1m", "numjobs": "8"},
    "randwrite 1m 8jobs": {"rw": "randwrite", "bs": "1m", "numjobs": "8"},
    "64k,1m seq read 60s": {"rw": "read", "bs": "64k,1m", "runtime": "60s"},
    "64k, 1m seq read, 60 sec": {"rw": "read", "bs": "64k,1m", "runtime": "60s"},
    "mdtest 1m files": {"items": "1000000"},
    "rr 4 KiB q32t8": {"rw": "randread", "bs": "4KiB", "iodepth": "32", "numjobs": "8"},
    "sr 1m": {"rw": "read", "bs": "1m"},
    "randrw 30% write": {"rw": "randrw", "rwmixread": "70"},
    "random write 8 jobs, queue depth 16": {"rw": "randwrite", "numjobs": "8", "iodepth": "16"},
    "8 jobs 16 depth": {"numjobs": "8", "iodepth": "16"},
    "4k for 1m": {"bs": "4k", "runtime": "1m"},
    "file size 4g 1m": {"bs": "1m", "size": "4g"},
    "1m read 4g files": {"rw": "read", "bs": "1m", "size": "4g"},
    "write 8k, file size 4g, 60s, ramp 5s": {
        "rw": "write", "bs": "8k", "size": "4g", "runtime": "60s", "ramp_time": "5s",
    },
    "buffered io_uring 4k": {"bs": "4k", "ioengine": "io_uring", "direct": "no"},
    "100% random 100% read 4k": {"rw": "randread", "bs": "4k"},
    "rr /dev/nvme0n1": {"rw": "randread", "filename": "/dev/nvme0n1"},
    "bs=4k rw=randread": {"rw": "randread", "bs": "4k"},
    "ior 1m x16 block 4g": {"ranks": "16", "transfer": "1m", "block": "4g"},
}  # fmt: skip


@pytest.mark.parametrize(("text", "terms"), SAID.items())
def test_words_of_engineers_are_understood(text: str, terms: dict[str, str]) -> None:
    found = job_in(text)
    assert found is not None
    assert (dict(found.terms), found.unknown, found.contrary) == (terms, (), ())


@pytest.mark.parametrize("tool", ["fio", "mdtest", "ior"])
def test_a_number_one_key_away_from_a_time_is_no_number_of_jobs(tool: str) -> None:
    assert read_words(workloads.get(tool), ["10x"]).unknown == ("10x",)


@given(JOBS)
def test_a_job_in_the_words_of_the_program_is_read_as_that_job(terms: dict[str, str]) -> None:
    found = job_in(words_for("fio", terms))
    assert found is not None
    assert (found.tool, dict(found.terms), found.is_whole) == ("fio", terms, True)


@pytest.mark.parametrize("tool", ["mdtest", "ior"])
def test_the_defaults_of_other_load_generators_are_read_as_they_are_worded(tool: str) -> None:
    terms = {
        each.name: each.default
        for each in workloads.get(tool).from_terms().job_terms()
        if each.default
    } | {"directory": "/mnt/weka"}
    found = job_in(words_for(tool, terms))
    assert found is not None
    assert (found.tool, dict(found.terms), found.is_whole) == (tool, terms, True)


@given(JOBS, st.data())
def test_the_order_of_words_does_not_matter(terms: dict[str, str], data: st.DataObject) -> None:
    """Words of one key stay together; ``4k file size 8k`` can be read in two ways."""
    pairs = ("rw", "rwmixread", "size", "ramp_time")
    told = [
        f"{name}={value}" if name in pairs else words_for("fio", {name: value})
        for name, value in terms.items()
    ]
    one, other = job_in(" ".join(told)), job_in(" ".join(data.draw(st.permutations(told))))
    assert one is not None
    assert other == one


@given(st.permutations(["8k", "70%", "random", "mixed", "qd16", "x8", "60s", "/mnt/weka"]))
def test_words_of_the_pattern_need_not_stand_together(words: list[str]) -> None:
    words = ["70% read" if each == "70%" else each for each in words]
    found = job_in(" ".join(words))
    assert found is not None
    assert (found.terms["rw"], found.terms["rwmixread"], found.is_whole) == ("randrw", "70", True)


@given(st.text(max_size=60))
def test_no_text_is_an_error(text: str) -> None:
    for each in (text, f"4k {text}", f"mdtest 8 ranks {text}"):
        job_in(each)


SOME = [
    "4k", "8k", "read", "write", "random", "seq", "mixed", "rr", "rw", "70/30", "30%", "%", "16",
    "x8", "qd16", "qd", "depth", "jobs", "file", "size", "block", "for", "60s", "5", "min", "k",
    "engine", "libaio", "buffered", "direct", "no", "on", "/mnt/weka", "/dev/sdb", "bs=4k",
    "rw=read", "foo",
]  # fmt: skip


@given(st.lists(st.sampled_from(SOME), min_size=1, max_size=8))
def test_every_word_is_understood_or_named(words: list[str]) -> None:
    found = job_in(" ".join(words))
    if found is None:
        return
    named = [*found.unknown, *(word for each in found.contrary for word in each.split())]
    assert not set(named) - set(words)
    count = found.understood + len(named)
    assert count <= len(words) <= count + sum(word in FILLERS for word in words)


WORDS = st.text(st.sampled_from("abcdefgzqvw"), min_size=4, max_size=9).map(
    lambda text: f"zz{text}"
)


@given(JOBS, st.lists(WORDS, min_size=1, max_size=3, unique=True), st.integers(0))
def test_words_that_mean_nothing_are_named(
    terms: dict[str, str], strange: list[str], at: int
) -> None:
    words = shlex.split(words_for("fio", {**terms, "bs": "4k"}).replace("\\", "\\\\"))
    assume(not any(" " in word or "'" in word for word in words))
    place = at % (len(words) + 1)
    before, after = words[:place], words[place:]
    found = job_in(" ".join([*before, *strange, *after]))
    assert found is not None
    assert [word for word in found.unknown if word in strange] == strange


@pytest.mark.parametrize(
    ("text", "contrary"),
    [
        ("4k 8k read", {"4k", "8k"}),
        ("8k random seq", {"random", "seq"}),
        ("4k randread randwrite", {"randread", "randwrite"}),
        ("4k 70/30 50/50", {"70/30", "50/50"}),
        ("4k qd16 qd32", {"qd16", "qd32"}),
        ("randread rw=randwrite 4k", {"randread", "rw=randwrite"}),
    ],
)
def test_of_words_that_contradict_each_other_none_counts(text: str, contrary: set[str]) -> None:
    found = job_in(text)
    assert found is not None
    assert set(found.contrary) == contrary
    assert found.unknown == ()


@pytest.mark.parametrize(
    ("text", "unknown"),
    [
        ("read 8k file size 4k", ("8k", "file", "size", "4k")),  # which of them is of the file
        ("4k depth 16 jobs", ("depth", "16", "jobs")),  # 16 deep, or 16 jobs
        ("4k 8", ("8",)),
        ("4k 8 files", ("8", "files")),
        ("4k read 4 hosts", ("4", "hosts")),
        ("4k bs=4z", ("bs=4z",)),
        ("4k 60/30", ("60/30",)),
    ],
)
def test_a_word_that_can_mean_several_things_or_none_is_not_understood(
    text: str, unknown: tuple[str, ...]
) -> None:
    found = job_in(text)
    assert found is not None
    assert found.unknown == unknown


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('a "b c" "d e', ["a", "b c", '"d', "e"]),
        ("it's \"b c\" d", ["it's", "b c", "d"]),
        ("bs='4k 8k'x \"\" d", ["bs=4k 8kx", "d"]),
    ],
)
def test_closed_quotes_keep_blanks_together_beside_one_that_is_not_closed(
    text: str, words: list[str]
) -> None:
    assert words_in(text) == words


@given(st.lists(st.text(min_size=1).filter(str.strip), max_size=4))
def test_words_quoted_for_a_shell_are_read_back(words: list[str]) -> None:
    assert words_in(shlex.join(words)) == words


@pytest.mark.parametrize(
    "text", ["", "  ", "elbencho 4k read", "fio mdtest 4k", "oltp", "'", '"4k']
)
def test_what_says_nothing_about_a_job_is_none(text: str) -> None:
    found = job_in(text)
    assert found is None or not found.is_whole


def test_every_engine_of_the_form_is_a_word() -> None:
    for engine in ("libaio", "io_uring", "posixaio", "psync"):
        found = job_in(f"4k {engine}")
        assert found is not None
        assert found.terms["ioengine"] == engine
    for engine in table()["engines"]:
        found = job_in(f"4k engine {engine}")
        assert found is not None
        assert found.terms.get("ioengine") == engine or "engine" in found.unknown


def test_names_of_presets_with_a_family_are_no_jobs() -> None:
    for tag in Catalogue(Path("/nowhere")).names():
        assert job_in(tag) is None, tag
