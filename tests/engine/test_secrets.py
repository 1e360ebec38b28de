"""Output of fio without the secrets that it prints."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from tui.engine.session.host_session import Secrets
from tui.model.plan import HostTask

JOB = "[global]\nhttp_s3_key=${KEY}\nbs=4k\n[a]\ndescription=by ${KEY}\n"
TASK = HostTask(host="h1", randseed=1, job_file=JOB, argv=[])


def masked(text: bytes, cuts: list[int], value: str | None = None) -> bytes:
    mask = Secrets(("KEY",), {} if value is None else {"KEY": value}).mask(TASK)
    assert mask is not None
    places = sorted({cut % (len(text) + 1) for cut in cuts})
    pieces = [
        text[start:end] for start, end in zip([0, *places], [*places, len(text)], strict=True)
    ]
    return b"".join(map(mask.feed, pieces)) + mask.flush()


PRINTABLE = st.text(st.characters(min_codepoint=32, codec="utf-8"), min_size=1, max_size=30)


@given(PRINTABLE, st.lists(st.integers(0, 500), max_size=6))
def test_options_that_hold_a_secret_are_stars_however_the_stream_is_cut(
    value: str, cuts: list[int]
) -> None:
    escaped = json.dumps(value, ensure_ascii=False)[1:-1]
    form = (
        '{\n "bs" : "4k",\n "http_s3_key" : "%s",\n "description" : "%s",\n "iops" : 12.5,\n "desc"'
        ' : "%s"\n}'
    )
    text = (form % (escaped, f"by {escaped}", f"by {escaped}")).encode()
    stars = "*" * len(escaped.encode())
    assert masked(text, cuts) == (form % (stars, "***" + stars, "***" + stars)).encode()


@given(st.lists(st.integers(0, 500), max_size=6))
def test_a_known_value_is_masked_wherever_it_stands_and_nothing_is_longer_or_shorter(
    cuts: list[int],
) -> None:
    text = b"fio: cannot open geheim-123\nhttp: geheim-123 refused\n12.5"
    assert masked(text, cuts, "geheim-123") == text.replace(b"geheim-123", b"*" * 10)


def test_a_number_that_is_a_secret_leaves_figures_alone() -> None:
    text = b'"iops" : 1234567, "http_s3_key" : "1234567"\n'
    assert masked(text, [], "1234567") == b'"iops" : 1234567, "http_s3_key" : "*******"\n'


def test_a_run_without_secrets_is_not_touched() -> None:
    assert Secrets().mask(TASK) is None


def test_secrets_are_not_in_a_repr() -> None:
    assert "geheim" not in repr(Secrets(("KEY",), {"KEY": "geheim"}))
