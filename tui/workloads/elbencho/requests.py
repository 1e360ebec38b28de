"""Requests of S3 that elbencho gives up on: the lines that it prints of one, joined and explained.

Seen in LocalWorker.cpp: after "... failed." there is a line for each of Endpoint, Bucket, Object,
Exception, Message and the HTTP status; -1 is no status. The SDK repeats what is answered with 429
or 5xx, and what gets no answer, up to 10 times.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from tui.workloads.base import TargetCheck
from tui.workloads.http_status import answered
from tui.workloads.messages import rule

FAILED = re.compile(r"^\d\d:\d\d:\d\d\.\d+ ERROR: [^:]* failed\.$")
DETAIL = re.compile(r"^(Endpoint|Bucket|Object|Exception|Message|HTTP Error Code|Request ID|\w+): ")
LAST = "HTTP Error Code: "
MOST_DETAILS = 12
REQUESTS = (
    ("Object upload", "PUT"),
    ("part upload", "PUT of a part"),
    ("ultipart upload", "POST of a multipart upload"),
    ("Object download", "GET"),
    ("HeadObject", "HEAD"),
    ("Object deletion", "DELETE"),
    ("Bucket creation", "PUT of the bucket"),
    ("Bucket deletion", "DELETE of the bucket"),
    ("Head bucket", "HEAD of the bucket"),
)
REPEATED = "elbencho repeated it up to 10 times"
MISSING_BUCKET = "NoSuchBucket"
STATUS, NO_ANSWER = "elbencho-http-status", "elbencho-no-answer"


class Joiner:
    """Joins the lines of a failed request into one; other lines pass."""

    def __init__(self) -> None:
        self._held: list[str] = []

    def join(self, lines: Iterable[str]) -> Iterator[str]:
        """Yield whole messages. What is not complete is held back until `rest`."""
        for line in lines:
            if FAILED.match(line):
                yield from self.rest()
                self._held = [line]
            elif not self._held:
                yield line
            elif DETAIL.match(f"{line} ") and len(self._held) < MOST_DETAILS:
                self._held.append(line)
                if line.startswith(LAST):
                    yield from self.rest()
            else:
                yield from self.rest()
                yield line

    def rest(self) -> Iterator[str]:
        """Yield the message that is held back, as far as it is known."""
        held, self._held = self._held, []
        if held:
            yield "; ".join(line.strip() for line in held)


def bucket_problem(check: TargetCheck, said: str) -> tuple[str, str] | None:
    """Return why a bucket cannot be used, by what a HEAD of it said.

    403 may mean no more than that the keys may not list the bucket: the first PUT or GET tells.
    """
    found = re.search(LAST + r"(-?\d+)", said)
    status = int(found[1]) if found else 0
    if status < 0:
        why = re.search(r"Message: (?:curlCode: \d+, )?(.*?) *HTTP Error", said)
        return NO_ANSWER, (
            f"{check.target}: no answer: {why[1] if why else said}; check endpoint, https and the"
            " network of the host"
        )
    if status == 404:
        return STATUS, f"{check.target}: {answered('HEAD of the bucket', status)}"
    return None


def _told(match: re.Match[str]) -> str:
    status, detail = int(match["status"]), match["detail"]
    request = next((name for said, name in REQUESTS if said in match["what"]), match["what"])
    object_ = _of(detail, "Object")
    where = " ".join(filter(None, (_of(detail, "Bucket"), object_)))
    if status < 0:
        why = re.sub(r"^curlCode: \d+, ", "", _of(detail, "Message")) or "no answer"
        return (
            f"a {request} to {_of(detail, 'Endpoint')} got no answer: {why};"
            " check endpoint, https and the network of the host"
        )
    gone = "" if MISSING_BUCKET in detail or not object_ else "the bucket or the object is missing"
    return f"{answered(request, status, REPEATED, gone)} ({where})"


def _of(detail: str, name: str) -> str:
    """Return a detail of a request; empty: not printed."""
    found = re.search(rf"(?:^|; ){name}:(.*?)(?=; [A-Z][\w ]*:|$)", detail)
    return found[1].strip() if found else ""


_REFUSED = r" ERROR: (?P<what>.*?) failed\.;? ?(?P<detail>.*?);? HTTP Error Code: "
RULES = (
    rule(_REFUSED + r"(?P<status>-\d+)", "error", _told, NO_ANSWER),
    rule(_REFUSED + r"(?P<status>\d+)", "error", _told, STATUS),
    rule(r"^Request ID:|^\s*$", "info", ""),
)
