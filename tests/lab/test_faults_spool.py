"""The last object that fio printed, as the fault tests read it."""

from __future__ import annotations

import pytest

from tests.lab.faults_spool import last_object

FIRST, SECOND = b'{\n  "n" : 1\n}\n', b'{\n  "n" : 2\n}\n'


@pytest.mark.parametrize(
    ("output", "number"),
    [
        (FIRST + SECOND, 2),
        (FIRST + b"fio: terminating on signal 2\n" + SECOND, 2),
        (FIRST + SECOND[:-2], 1),
        (FIRST + b'{\n  "n"\n{\n  y\n}\n : 2\n}\n', 1),
        (FIRST + SECOND + b"y\ny\n}\n", 2),
    ],
    ids=["whole", "after-a-message", "cut", "spoiled", "before-a-flood"],
)
def test_last_whole_object(output: bytes, number: int) -> None:
    assert last_object(output) == {"n": number}


@pytest.mark.parametrize("output", [b"", b"y\n}\n", FIRST[:-3]])
def test_no_whole_object(output: bytes) -> None:
    assert last_object(output) is None
