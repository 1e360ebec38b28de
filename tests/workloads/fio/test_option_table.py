from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui.workloads.fio.option_table import (
    by_name,
    canonical,
    is_external,
    name_problem,
    option_problem,
    table,
)


def fio(*arguments: str) -> str:
    return subprocess.run(["fio", *arguments], capture_output=True, text=True, check=False).stdout


def names_in(text: str) -> set[str]:
    return set(re.findall(r"^\s*(\S+?)\s*:", text, re.M))


def test_every_option_of_this_fio_is_known() -> None:
    names = names_in(fio("--cmdhelp=all"))
    assert len(names) > 200
    assert names - set(by_name()) == set()


def test_every_engine_of_this_fio_is_known_with_its_options() -> None:
    engines = fio("--enghelp").split()[3:]
    assert len(engines) > 20
    assert set(engines) - set(table()["engines"]) == set()
    for engine in engines:
        assert names_in(fio(f"--enghelp={engine}")) - set(by_name()) == set(), engine


def test_every_alias_of_this_fio_is_known() -> None:
    for name in ("rw", "bs", "runtime", "stonewall", "nrfiles", "offset"):
        found = re.search(r"alias: (\S+)", fio(f"--cmdhelp={name}"))
        assert found
        assert canonical(found[1]) == name


@pytest.mark.parametrize(
    "name", ["ramp_size", "stat_type", "dataplacement", "unified_rw_reporting", "steadystate"]
)
def test_options_of_newer_fio_are_known(name: str) -> None:
    assert name_problem(name) is None


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("iodpeth", "unknown fio option 'iodpeth' (did you mean 'iodepth'?)"),
        ("xyzzy", "unknown fio option 'xyzzy'"),
        (
            "-bs",
            "unknown fio option '-bs': write options without dashes, as in a job file",
        ),
        ("percentage_sequential", "'percentage_sequential' was removed from fio"),
        (
            "status-interval",
            (
                "'status-interval' is not allowed in a profile: benchtui requests a status every"
                " second"
            ),
        ),
        ("output", "'output' is not allowed in a profile: benchtui collects the output"),
        (
            "stonewall",
            (
                "'stonewall' is not allowed in a profile: one fio process runs one step; write one"
                " profile per step"
            ),
        ),
        (
            "wait_for_previous",
            (
                "'wait_for_previous' is not allowed in a profile: one fio process runs one step; "
                "write one profile per step"
            ),
        ),
        (
            "exec_prerun",
            "'exec_prerun' is not allowed in a profile: profiles cannot run commands on hosts",
        ),
        ("name", "'name' is not allowed in a profile: the key under 'jobs' is the job name"),
    ],
)
def test_a_name_that_cannot_stand_is_refused(name: str, message: str) -> None:
    assert name_problem(name) == message


def test_an_engine_from_a_file_may_have_any_option() -> None:
    assert name_problem("image", external=True) is None
    assert name_problem("stonewall", external=True) is not None


@pytest.mark.parametrize(
    "engine", ["external:/usr/lib/x.so", "/usr/lib/fio/x.so", "libfio_vitastor.so"]
)
def test_an_engine_from_a_file_is_identified_by_its_name(engine: str) -> None:
    assert is_external(engine)
    assert option_problem("ioengine", engine) is None


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("rw", "randrw"), ("rw", "randread:8"), ("readwrite", "rw"), ("bs", "4k"), ("bs", "4k,8k"),
        ("bs", ",8k"),
        ("blocksize", "4096"), ("bsrange", "4k-64k"), ("bsrange", "4k-8k,16k-32k"),
        ("bssplit", "4k/60:8k/40"),
        ("size", "4G"), ("size", "50%"), ("size", "100z"), ("filesize", "1m-2m"),
        ("runtime", "300"),
        ("runtime", "5m"), ("runtime", "250ms"), ("startdelay", "5-10"), ("thinktime", "100"),
        ("direct", "1"),
        ("thread", ""), ("thread", "1"), ("new_group", ""), ("percentage_random", "100,50"),
        ("rate", "1m,,2m"),
        ("rate_iops", "100"), ("file_service_type", "zipf:1.2"),
        ("random_distribution", "zoned:60/10:30/20:10/70"),
        ("latency_percentile", "99.9"), ("nice", "-5"), ("sync_file_range", "wait_before,write"),
        ("iodepth", "0x10"),
        ("ioengine", "libaio"), ("ioengine", "filecreate"), ("clocksource", "gettimeofday"),
        ("group_reporting", "1"),
        ("group_reporting", ""), ("stats", "1"), ("kb_base", "1024"),
        ("filename_format", "$jobnum/$filenum/a.$jobnum"),
        ("unknown_option", "anything"), ("norandommap", ""), ("verify", "crc32c"),
        ("size", "(4*1024)"),
    ],
)  # fmt: skip
def test_a_value_that_fio_takes_is_taken(name: str, text: str) -> None:
    assert option_problem(name, text) is None


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("rw", "randraed",
            "found 'randraed' (did you mean 'randread'?); allowed: read, write, trim, "),
        ("file_service_type", "round",
            "found 'round' (did you mean 'roundrobin'?); allowed: random, zipf, "),
        ("ioengine", "libaoi",
            "unknown ioengine 'libaoi' (did you mean 'libaio'?); for an external engine"),
        ("ioengine", "exec", "found 'exec': profiles cannot run commands on hosts"),
        ("direct", "yes", "found 'yes'; allowed: 0 and 1, or true and false"),
        ("direct", "2", "found '2'; allowed: 0 and 1, or true and false"),
        ("thread", "on", "found 'on'; allowed: 0 and 1, or no value"),
        ("iodepth", "many",
            "found 'many'; allowed: a whole number, optionally with k, m or g (powers of 1024)"),
        ("iodepth", "0", "found '0'; the smallest allowed value is 1"),
        ("numjobs", "0", "found '0'; the smallest allowed value is 1"),
        ("rwmixread", "101", "found '101'; the largest allowed value is 100"),
        ("rwmixread", "-1", "found '-1'; the smallest allowed value is 0"),
        ("bs", "4q", "found '4q'; allowed: a whole number, optionally with k, m or g (powers of 1024)"),
        ("bs", "0", "found '0'; the smallest allowed value is 1"),
        ("size", "big",
            "found 'big'; allowed: bytes as a whole number, or a number with k, m, g, t or p"),
        ("runtime", "soon",
            "found 'soon'; allowed: numbers with us, ms, s, m, h or d, such as 300s, 250ms"),
        ("runtime", "5-10", "found '5-10'; allowed: numbers with us, ms, s, m, h or d"),
        ("percentage_random", "50,101", "found '50,101'; the largest allowed value is 100"),
        ("latency_percentile", "101", "found '101'; the largest allowed value is 100"),
        ("latency_percentile", "p99",
            "found 'p99'; allowed: numbers separated by ':'"),
        ("description", "a\nexec_prerun=x", "a value must be one line"),
        ("filename", "/tmp/a#b", "found '/tmp/a#b'; fio ignores everything after '#' or ';'"),
        ("group_reporting", "0", "found '0'; allowed: 1: benchtui always reports by group"),
        ("gtod_reduce", "1",
            "found '1'; allowed: 0: 1 would disable latencies that benchtui records"),
        ("clat_percentiles", "0",
            "found '0'; allowed: 1: 0 would disable latencies that benchtui records"),
        ("kb_base", "1000", "found '1000'; allowed: 1024: sizes in profiles are powers of 1024"),
        ("create_only", "1",
            "found '1'; allowed: 0: 1 measures nothing; to lay out files, use"),
    ],
)  # fmt: skip
def test_a_value_that_fio_refuses_is_refused_with_what_is_allowed(
    name: str, text: str, message: str
) -> None:
    found = option_problem(name, text)
    assert found is not None
    assert found.startswith(message)


@pytest.mark.parametrize(
    ("name", "text", "right"),
    [
        ("bs", "4KiB", "4k"),  # fio: 4000 bytes
        ("size", "1.5g", "1536M"),  # fio: 1 byte
        ("runtime", "1h30m", "5400s"),  # fio: 1 microsecond
        ("runtime", "1.5h", "5400s"),  # fio: 1 second
    ],
)
def test_a_value_that_fio_misreads_is_refused_with_the_right_one(
    name: str, text: str, right: str
) -> None:
    assert option_problem(name, text) == f"found '{text}', which fio misreads; write {right}"


def test_fio_does_misread_a_kib(tmp_path: Path) -> None:
    """The reason for the rule: fio says nothing and does something else."""
    job = tmp_path / "job.fio"
    job.write_text("[a]\nioengine=null\nrw=read\nbs=4KiB\nnumber_ios=10\nsize=1m\n")
    found = re.search(r'"io_bytes" : (\d+)', fio("--output-format=json", str(job)))
    assert found
    assert found[1] == "40000"


@given(st.sampled_from(sorted(by_name())), st.text(max_size=12))
def test_any_value_of_any_option_is_judged_in_one_line(name: str, text: str) -> None:
    found = option_problem(name, text)
    assert found is None or ("\n" not in found and found)


def test_every_listed_value_is_taken() -> None:
    for name, option in by_name().items():
        for value in option.get("values", ()):
            assert option_problem(name, value) is None or name == "kb_base", (name, value)
