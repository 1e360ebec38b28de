"""Refused requests to object stores, in the same words for every load generator."""

from __future__ import annotations

HINTS = {
    301: "the bucket is in another region",
    307: "the bucket is in another region",
    400: "the store does not take the request; often the region is another one",
    401: "the keys are not accepted",
    403: "wrong keys, no permission in the bucket, or the host's clock is off",
    404: "the bucket does not exist",
    409: "the bucket is not empty, or belongs to another account",
    429: "the store asks for fewer requests",
    503: "the store is overloaded or asks for fewer requests",
}
BUSY = (429, 503)


def answered(request: str, status: int, when_busy: str = "", when_missing: str = "") -> str:
    """Return the meaning of a request and its status.

    `when_busy`: what the load generator does if the store asks for fewer requests; `when_missing`:
    the meaning of 404 if the bucket may exist.
    """
    hint = HINTS.get(status, "the log of the store says more")
    if status == 404 and when_missing:
        hint = when_missing
    more = f"; {when_busy}" if when_busy and status in BUSY else ""
    return f"a {request} was answered with HTTP {status}: {hint}{more}"
