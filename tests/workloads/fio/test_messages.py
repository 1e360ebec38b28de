"""What fio's messages mean."""

from __future__ import annotations

import errno

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.samples.words import said, texts
from tui.workloads.fio.reader import errno_text, explainer


def explain(line: str) -> tuple[str, str, dict[str, str]]:
    table = explainer()
    told = table.explain(line)
    assert told is not None
    return told[0], said("fio", told[1]), dict(texts("fio", table.codes.items()))


@pytest.mark.parametrize(
    ("line", "severity", "words", "code"),
    [
        (
            "fio: pid=11407, err=5/file:io_u.c:1876, func=io_u error, error=Input/output error",
            "error",
            "EIO (Input/output error)",
            None,
        ),
        ("fio: pid=26012, err=35/", "warning", "status collector", "fio-status-collector"),
        (
            "fio seems to be stuck grabbing stat_sem, forcibly exiting",
            "warning",
            "not a storage error",
            "fio-status-collector",
        ),
        (
            "fio: pid=0, err=28/file:filesetup.c:240, func=write, error=No space left on device",
            "error",
            "while preparing its files: ENOSPC",
            None,
        ),
        ("fio: ENOSPC on laying out file, stopping", "error", "no space left", "fio-no-space"),
        (
            "fio: io_u error on file /mnt/a:b: Input/output error: read offset=4096, buflen=8192",
            "error",
            "read of 8192 bytes at offset 4096 of /mnt/a:b failed: Input/output error",
            None,
        ),
        ("fio: terminating on signal 2", "info", "signal 2", "fio-stopped-by-signal"),
        ("fio: pid=9, got signal=9", "error", "killed by signal 9", "fio-worker-killed"),
        ("fio: engine nosuch not loadable", "error", "no I/O engine nosuch", "fio-engine-missing"),
        (
            "fio: /mnt/x is not a directory",
            "error",
            "/mnt/x does not exist",
            "fio-missing-directory",
        ),
        ("fio: failed parsing rw=reed", "error", "rejects rw=reed", "fio-bad-value"),
        ("Bad option <foo=1>", "error", "does not have the option foo=1", "fio-bad-option"),
        (
            "fio: file creation disallowed by allow_file_create=0",
            "error",
            "missing",
            "fio-file-missing",
        ),
        (
            (
                "fio: first direct IO errored. File system may not support direct IO, or"
                " iomem_align= is bad"
            ),
            "error",
            "does not support direct=1",
            "fio-no-direct-io",
        ),
        ("fio: check /proc/sys/fs/aio-max-nr", "error", "raise fs.aio-max-nr", "fio-aio-limit"),
        (
            "verify: bad magic header 0, wanted acca at file /mnt/x offset 0, length 4096",
            "error",
            "verification failed",
            "fio-verify-failed",
        ),
        (
            "fio: job 'a' hasn't exited in 300 seconds, it appears to be stuck",
            "error",
            "stuck",
            "fio-worker-stuck",
        ),
        ("fio: some new failure in a later version", "warning", "some new failure", None),
        ("fio: file hash not empty on exit", "info", "file hash", None),
        ("something else entirely", "info", "fio: something else entirely", None),
    ],
)
def test_lines_are_explained(line: str, severity: str, words: str, code: str | None) -> None:
    found, text, codes = explain(line)
    assert found == severity
    assert words in text
    assert list(codes) == ([code] if code else [])


def test_lines_that_differ_only_in_numbers_are_reported_at_1_10_and_100() -> None:
    table = explainer()
    told = [table.explain(f"fio: pid={pid}, got signal=9") for pid in range(250)]
    assert [index + 1 for index, line in enumerate(told) if line] == [1, 10, 100]
    assert said("fio", (told[9] or ("", ""))[1]).count("seen 10 times") == 1


def test_different_troubles_are_reported_each() -> None:
    table = explainer()
    assert table.explain("Bad option <foo>")
    assert table.explain("Bad option <bar>")


@given(st.text())
def test_any_text_is_explained_without_fail(line: str) -> None:
    told = explainer().explain(line)
    assert told is not None
    assert told[0] in ("info", "warning", "error")


@pytest.mark.parametrize("number", [errno.EIO, errno.ENOSPC, errno.EROFS, 9999])
def test_error_numbers_have_names(number: int) -> None:
    assert errno_text(number) == errno_text(number).strip()
    assert "not a storage error" not in errno_text(number)
    assert "not a storage error" in errno_text(35)
