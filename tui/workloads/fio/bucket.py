"""A signed HEAD of each bucket with the host's curl, before fio writes anything.

fio cannot ask: it counts a GET answered with 404 as done, and otherwise only puts or deletes. The
keys are only in the environment and in a pipe, so the check does not run where printf is not built
into the shell. Without curl, or with one older than 7.75, nothing is checked.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence

from tui.model.operands import Clause, clause
from tui.model.plain import SECRET_PATTERN
from tui.model.plan import HostTask
from tui.workloads.base import TargetCheck
from tui.workloads.fio.objects import object_sets
from tui.workloads.fio.options import JobOptions, jobs_of_job_file
from tui.workloads.fio.reader import HTTP_STATUS

NO_ANSWER = "fio-no-answer"
UNREACHABLE = (6, 7)  # curl: unknown name, no connection; curl and fio may trust different CAs
SCHEMES = {"on": "https", "insecure": "https"}
DEFAULT_REGION = "us-east-1"
EMPTY = hashlib.sha256(b"").hexdigest()
SCRIPT = """\
command -v curl >/dev/null 2>&1 || exit 0
case $(command -v printf) in /*) exit 0 ;; esac
case $id$key$token in *[!A-Za-z0-9/+=_.-]*) exit 0 ;; esac
{{
  printf 'user = "%s:%s"\\n' "$id" "$key"
  [ -z "$token" ] || printf 'header = "x-amz-security-token: %s"\\n' "$token"
}} | curl -q -sSI{insecure} -o /dev/null -w 'HTTP %{{http_code}}' --max-time 30 -K - \\
  --aws-sigv4 "aws:amz:$2:s3" -H 'x-amz-content-sha256: {empty}' "$1"
exit 1"""


def bucket_checks(tasks: Sequence[HostTask]) -> list[TargetCheck]:
    """Return a HEAD request for each S3 bucket that these tasks use."""
    found: dict[str, TargetCheck] = {}
    for job in (job for task in tasks for job in jobs_of_job_file(task.job_file)):
        if job.on_objects and job.get("http_mode") == "s3":
            for store in dict.fromkeys(each.store for each in object_sets(job)):
                found.setdefault(store, TargetCheck(store, _head_request(job, store), "fio"))
    return list(found.values())


def _head_request(job: JobOptions, store: str) -> tuple[str, ...]:
    https = job.get("https") or "off"
    url = f"{SCHEMES.get(https, 'http')}://{store}"
    script = SCRIPT.format(insecure="k" if https == "insecure" else "", empty=EMPTY)
    region = job.get("http_s3_region") or DEFAULT_REGION
    return "sh", "-c", "\n".join([*_keys(job), script]), "sh", url, region


def _keys(job: JobOptions) -> Iterator[str]:
    """Yield shell lines that set the credentials, which are names of environment variables."""
    options = {"id": "http_s3_keyid", "key": "http_s3_key", "token": "http_s3_security_token"}
    for name, option in options.items():
        value = job.get(option) or ""
        plain = re.fullmatch(r"[\w.-]*", value) or re.fullmatch(SECRET_PATTERN, value)
        yield f'{name}="{value}"' if plain else f"{name}="


def bucket_problem(check: TargetCheck, said: str) -> tuple[str, Clause] | None:
    """Return why a bucket cannot be used, from what curl printed; None if it may be usable.

    403 is not conclusive: the keys may just lack permission to list the bucket.
    """
    if re.search(r"\bHTTP 404\b", said):
        return HTTP_STATUS, clause("bucket-missing", target=check.target)
    failed = re.search(r"curl: \((\d+)\) (.*?) *(?:HTTP 000|$)", said)
    if failed and int(failed[1]) in UNREACHABLE:
        return NO_ANSWER, clause("bucket-silent", target=check.target, quote=failed[2])
    return None
