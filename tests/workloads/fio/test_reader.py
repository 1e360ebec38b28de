"""What one fio command's output says in the end."""

from __future__ import annotations

import re

import pytest

from tests.samples.words import lines, texts
from tests.workloads.fio.fixtures import names, recording, step
from tui.model.event import Sample
from tui.workloads.fio.reader import FioReader


def read(name: str, chunk: int = 65536) -> tuple[FioReader, list[object]]:
    source = recording(name)
    reader = FioReader("h1", step(ramp_s=3.0 if "ramp" in name else 0.0), "measure")
    items: list[object] = []
    for start in range(0, len(source.stdout), chunk):
        items += reader.feed(source.stdout[start : start + chunk])
    items += reader.feed_stderr(source.stderr)
    return reader, lines("fio", items + list(reader.flush()))


def problems_with(name: str, exit_code: int | None) -> dict[str, str]:
    reader, _ = read(name)
    return dict(texts("fio", reader.problems(exit_code)))


def problems(name: str) -> dict[str, str]:
    return problems_with(name, recording(name).exit_code)


def told(name: str) -> list[tuple[str, str]]:
    return [item for item in read(name)[1] if isinstance(item, tuple)]


CLEAN = [name for name in names("stream", "size") if not name.startswith("stream/file")] + [
    name for name in names("stall") if "onehang-3.33" not in name
]


@pytest.mark.parametrize("name", CLEAN)
def test_a_good_run_has_a_result_and_no_doubts(name: str) -> None:
    reader, _ = read(name)
    result = reader.result(0)
    assert reader.problems(0) == []
    assert result is not None
    assert result.final
    assert result.dirs
    assert result.contradictions == []


def test_figures_that_contradict_each_other_are_in_the_result() -> None:
    text = recording(CLEAN[0]).stdout
    doctored = re.sub(rb'("io_kbytes" : )(\d+)', lambda found: found[1] + b"9" + found[2], text)
    reader = FioReader("h1", step(), "measure")
    reader.feed(doctored)
    reader.flush()
    result = reader.result(0)
    assert result is not None and result.contradictions
    assert {each.about for each in result.contradictions} == {"units"}


@pytest.mark.parametrize("version", ["3.33", "master"])
@pytest.mark.parametrize(
    ("case", "codes"),
    [
        ("badengine", ["fio-no-output"]),
        ("badopt", ["fio-no-output"]),
        ("badval", ["fio-no-output"]),
        ("missingdir", ["fio-no-output"]),
        ("nojobfile", ["fio-no-output"]),
        ("eio", ["fio-error-5"]),
        ("eio-continue", ["fio-error-5"]),
        ("eio-exitall", ["fio-error-5"]),
        ("eio-group", ["fio-error-5"]),
        ("enospc", ["fio-error-28"]),
        ("enospc-numjobs3-fillfs", ["fio-error-28"]),
        ("enospc-layout", ["fio-error-28", "fio-no-space"]),
        ("enoent-nocreate", ["fio-file-missing", "fio-no-io"]),
        ("readonly-layout", ["fio-error-2", "fio-file-missing"]),
        ("odirect", []),
    ],
)
def test_errors_are_named(case: str, version: str, codes: list[str]) -> None:
    assert list(problems(f"errors/{case}-{version}")) == codes


def test_err_35_is_the_status_collectors_and_not_the_storages() -> None:
    found = problems("stall/onehang-3.33")
    assert list(found) == ["fio-status-collector"]
    assert "not a storage error" in found["fio-status-collector"]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("errors/badopt-3.33", "does not have the option foo_bar=1"),
        ("errors/badval-3.33", "rejects rw=reed"),
        ("errors/badengine-3.33", "nosuch"),
        ("errors/missingdir-3.33", "/nonexistent/dir does not exist or is not a directory"),
        ("errors/nojobfile-3.33", "cannot open its job file"),
    ],
)
def test_a_run_without_output_says_why(name: str, words: str) -> None:
    assert words in problems(name)["fio-no-output"]


def test_the_number_of_failed_jobs_is_reported() -> None:
    assert "3 jobs failed" in problems("errors/eio-group-3.33")["fio-error-5"]


def test_no_bytes_at_all_are_no_output() -> None:
    reader = FioReader("h1", step(), "measure")
    assert reader.result(0) is None
    assert texts("fio", reader.problems(None)) == [
        ("fio-no-output", "fio printed no result (exit status unknown)")
    ]


def test_an_unknown_exit_code_is_never_success() -> None:
    name = "stream/basic-randread-2jobs-3.33"
    reader, _ = read(name)
    result = reader.result(None)
    assert list(problems_with(name, None)) == ["fio-exit-unknown"]
    assert result is not None
    assert not result.final


@pytest.mark.parametrize(
    ("exit_code", "code"),
    [
        (128, "fio-stopped-by-signal"),
        (-2, "fio-stopped-by-signal"),
        (137, "fio-killed"),
        (7, "fio-exit-code"),
    ],
)
def test_exit_codes_that_no_error_explains_are_named(exit_code: int, code: str) -> None:
    assert list(problems_with("stream/basic-randread-2jobs-3.33", exit_code)) == [code]


def test_a_stop_by_signal_leaves_a_result_that_is_not_final() -> None:
    reader, _ = read("stream/basic-randread-2jobs-3.33")
    items = reader.feed(b"\nfio: terminating on signal 2\n")
    result = reader.result(0)
    assert lines("fio", items) == [("info", "fio ended early on signal 2")]
    assert result is not None
    assert not result.final
    assert [code for code, _ in reader.problems(0)] == ["fio-stopped-by-signal"]


@pytest.mark.parametrize(("exit_code", "named"), [(1, False), (3, False), (128, True), (-15, True)])
def test_a_signal_that_a_failed_job_sent_to_the_others_is_no_cause(
    exit_code: int, named: bool
) -> None:
    reader, _ = read("errors/eio-exitall-3.33")
    reader.feed(b"\nfio: terminating on signal 15\n")
    found = dict(reader.problems(exit_code))
    assert next(iter(found)) == "fio-error-5"
    assert ("fio-stopped-by-signal" in found) == named


def test_a_killed_worker_is_seen_although_fio_ends_with_0_and_no_error() -> None:
    reader, _ = read("stream/basic-randread-2jobs-3.33")
    reader.feed_stderr(b"fio: pid=11407, got signal=9\nfio: file hash not empty on exit\n")
    assert texts("fio", reader.problems(0)) == [
        ("fio-worker-killed", "a fio worker was killed by signal 9; its load is missing")
    ]


def test_an_object_with_an_error_line_inside_is_left_out_and_counted() -> None:
    source = recording("stream/basic-randread-2jobs-3.33").stdout
    broken = source.replace(b'"total_ios" : 38065', b'"total_ifio: io_u error\nos" : 38065')
    assert broken != source
    reader = FioReader("h1", step(), "measure")
    samples = [item for item in reader.feed(broken) if isinstance(item, Sample)]
    assert [code for code, _ in reader.problems(0)] == ["fio-unreadable-output"]
    assert sum(sample.dirs["read"].ios for sample in samples) == 95476


def test_output_that_ends_inside_an_object_falls_back_to_the_one_before() -> None:
    source = recording("stream/basic-randread-2jobs-3.33").stdout
    reader = FioReader("h1", step(), "measure")
    reader.feed(source[: len(source) - 100])
    reader.flush()
    result = reader.result(0)
    assert result is not None
    assert (result.dirs["read"].ios, result.final) == (87809, False)
    assert [code for code, _ in reader.problems(0)] == ["fio-output-cut"]


def test_the_same_trouble_is_reported_once() -> None:
    reader = FioReader("h1", step(), "measure")
    line = b"fio: io_u error on file /mnt/x: Input/output error: read offset=%d, buflen=8192\n"
    found = reader.feed_stderr(b"".join(line % offset for offset in range(0, 8192 * 25, 8192)))
    assert lines("fio", found) == [
        ("error", "read of 8192 bytes at offset 0 of /mnt/x failed: Input/output error"),
        (
            "error",
            (
                "read of 8192 bytes at offset 73728 of /mnt/x failed: Input/output error (seen 10"
                " times)"
            ),
        ),
    ]


def test_stderr_may_arrive_in_pieces() -> None:
    reader = FioReader("h1", step(), "measure")
    assert reader.feed_stderr(b"Bad option <foo") == []
    assert lines("fio", reader.feed_stderr(b"_bar=1>\n")) == [
        ("error", "this version of fio does not have the option foo_bar=1")
    ]


def test_errors_of_storage_are_reported_in_plain_words() -> None:
    assert told("errors/enospc-layout-3.33")[0] == (
        "error",
        "no space left while laying out the test files",
    )
    assert any("EIO (Input/output error)" in text for _, text in told("errors/eio-3.33"))


def test_result_and_flush_may_be_asked_for_in_any_order() -> None:
    reader = FioReader("h1", step(), "measure")
    source = recording("stream/filestat-3.33").stdout
    assert reader.feed(source) == []
    result = reader.result(0)
    assert result is not None
    assert [item.dirs["read"].ios for item in reader.flush() if isinstance(item, Sample)] == [200]
    assert reader.flush() == []


def test_load_of_the_layout_phase_is_never_ramp_load() -> None:
    reader = FioReader("h1", step(ramp_s=30.0), "layout")
    items = reader.feed(recording("stream/ramp-3.33").stdout)
    assert not any(item.ramp for item in items if isinstance(item, Sample))


def test_what_fio_says_before_it_gives_up_is_the_reason() -> None:
    reader = FioReader("h1", step(), "measure")
    reader.feed_stderr(
        b"fio: size too small, must not be less than minimum block size: 1048576 < 2097152\n"
    )
    ((code, message),) = texts("fio", reader.problems(1))
    assert code == "fio-no-output"
    assert "size too small, must not be less than minimum block size" in message
