"""S3 objects that elbencho puts, gets and deletes: location, names, and how they are put before
the measurement.

Each rank has its own objects, `PREFIXrN/dM/rN-fK`, or `PREFIXrN-fK` without directories. A GET or
HEAD answered with 404 is an error; a DELETE of a missing object is answered with 204 and counts as
done. Keys come from the environment.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from tui.model.objects import NUMBER, ObjectSet
from tui.model.plain import SECRET_PATTERN
from tui.model.plan import HostTask
from tui.model.problem import UsageError
from tui.model.quantities import shown
from tui.workloads.base import TargetCheck
from tui.workloads.elbencho.options import PhaseName

HTTPS = {"off": "http", "insecure": "https"}
ENDPOINT = re.compile(r"[A-Za-z0-9._-]+(:\d{1,5})?|\[[0-9A-Fa-f:]+\](:\d{1,5})?")
BUCKET = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]+")
REGION = re.compile(r"[A-Za-z0-9-]+")
PREFIX = re.compile(r"[A-Za-z0-9!_./-]*")  # '%' stands for random text in elbencho
KEYS = {"key_id": "AWS_ACCESS_KEY_ID", "key": "AWS_SECRET_ACCESS_KEY", "token": "AWS_SESSION_TOKEN"}
NEVER_CHECKED = "elbencho never checks certificates: use insecure, or off for HTTP"
PUT_FIRST = "prepare: {precondition: {fill: 1, rounds: 0}}"
ONLY_MEASURED = ("infloop", "timelimit", "rand", "randamount", "randalgo", "limitread",
    "s3fastget", "s3randobj")  # fmt: skip
"""Options of a phase that do not apply to a fill of its objects."""


class Store(Struct, frozen=True):
    """A bucket with endpoint and credentials.

    Credentials are given as names of environment variables, in ${}.
    """

    endpoint: str
    https: str
    bucket: str
    region: str
    prefix: str
    key_id: str = ""
    key: str = ""
    token: str = ""

    @property
    def url(self) -> str:
        """The endpoint as a URL for elbencho."""
        return f"{HTTPS[self.https]}://{self.endpoint}"

    @property
    def name(self) -> str:
        """Endpoint and bucket, as passed to --destroy."""
        return f"{self.endpoint}/{self.bucket}"

    @property
    def secrets(self) -> dict[str, str]:
        """Value, as ${NAME}, of each environment variable that the SDK reads for credentials."""
        given = {"key_id": self.key_id, "key": self.key, "token": self.token}
        return {KEYS[name]: text for name, text in given.items() if text}


def store_problem(store: Store) -> str:
    """Return why a bucket is invalid; empty if it is valid. A literal key is not repeated."""
    for name, text in (("key_id", store.key_id), ("key", store.key), ("token", store.token)):
        if text and not re.fullmatch(SECRET_PATTERN, text):
            return f"{name}: benchtui never stores secrets: use a parameter of kind secret"
    if store.https not in HTTPS:
        if store.https == "on":
            return f"https: on: {NEVER_CHECKED}"
        return f"https: found {shown(store.https)}, allowed: off, insecure"
    for name, text, pattern, allowed in (
        ("endpoint", store.endpoint, ENDPOINT, "HOST or HOST:PORT, without https://"),
        ("bucket", store.bucket, BUCKET, "letters, digits, '.', '-' and '_'"),
        ("region", store.region, REGION, "letters, digits and '-'"),
        ("prefix", store.prefix, PREFIX, "letters, digits and any of !_./-"),
    ):
        if not pattern.fullmatch(text):
            return f"{name}: found {shown(text)}, allowed: {allowed}"
    return ""


ONE_ATTEMPT = ("export AWS_RETRY_MODE=standard", "export AWS_MAX_ATTEMPTS=1")
QUIET = ("--nolive", "--resfile /dev/null", "--csvfile /dev/null", "--jsonfile /dev/null")

# -- names

DOES: dict[PhaseName, Literal["put", "get", "head", "delete"]] = {
    "write": "put",
    "read": "get",
    "stat": "head",
    "rmobjects": "delete",
}


class Shape(Struct, frozen=True):
    """Number of directories and of objects per directory for each rank, and the object size in
    bytes.
    """

    dirs: int
    files: int
    size: int


def object_sets(
    store: Store, phase: PhaseName, shape: Shape, ranks: range, *, by_rank: bool
) -> list[ObjectSet]:
    """Return the objects of one host.

    With `by_rank` one set per rank, because only the rank number distinguishes them from other
    hosts' objects; otherwise one set for all ranks.
    """
    dirs, each, size = shape.dirs, max(shape.dirs, 1) * shape.files, shape.size
    if phase in ("mkbuckets", "rmbuckets"):
        return [ObjectSet(store.name, "", 1, 0, ("put" if phase == "mkbuckets" else "delete",))]
    folder = f"d{NUMBER}/" if dirs else ""
    found = []
    for rank in map(str, ranks) if by_rank else (NUMBER,):
        below = f"r{rank}/{folder}" if dirs else ""
        names = f"{store.prefix}{below}r{rank}-f{NUMBER}"
        count = each if by_rank else each * len(ranks)
        found.append(ObjectSet(store.name, names, count, size, (DOES[phase],)))
    return found


def check_put(tasks: Sequence[HostTask], *, put_first: bool) -> None:
    """Raise UsageError if the plan deletes objects that it never puts: a DELETE of a missing object
    counts as done.
    """
    needed = (each for task in tasks for each in task.objects if each.does == ("delete",))
    if not put_first and (each := next((each for each in needed if each.names), None)):
        raise UsageError(
            f"delete of {each.names}: a DELETE of a missing object counts as successful, so"
            f" the plan must write the objects first: {PUT_FIRST}"
        )


# -- commands


def exports(store: Store) -> list[str]:
    """Return shell lines that export the credentials under the names the SDK reads."""
    return [f'export {name}="{text}"' for name, text in store.secrets.items()]


def words_of(store: Store) -> list[str]:
    """Return elbencho's arguments for the endpoint, region and object prefix."""
    prefix = [f"--s3objprefix {store.prefix}"] if store.prefix else []
    return [f"--s3endpoints {store.url}", f"--s3region {store.region}", *prefix]


def bucket_checks(tasks: Sequence[HostTask]) -> list[TargetCheck]:
    """Return a HEAD request, without retries, for each bucket that these tasks use and do not
    create first.
    """
    found: dict[str, TargetCheck] = {}
    made: set[str] = set()
    for task in tasks:
        for store in dict.fromkeys(each.store for each in task.objects):
            if any(not each.names and each.does == ("put",) for each in task.objects):
                made.add(store)
            elif store not in made:
                check = TargetCheck(store, _head_request(task.job_file), "elbencho")
                found.setdefault(store, check)
    return list(found.values())


def _head_request(script: str) -> tuple[str, ...]:
    """Return the command that sends a HEAD request for the bucket of a phase's script."""
    lines = [line.removesuffix(" \\").strip() for line in script.splitlines()]
    keys = [line for line in lines if line.startswith("export ")]
    where = [line for line in lines if line.startswith(("--s3endpoints ", "--s3region "))]
    words = ["exec elbencho --s3statdirs", *where, *QUIET, lines[-1]]
    return "sh", "-c", "\n".join([*keys, *ONE_ATTEMPT, " ".join(words)])


def fill_tasks(tasks: Sequence[HostTask], times: int) -> list[HostTask]:
    """Return up to one task per host, which puts those objects of these tasks that no earlier host
    puts.

    Raises UsageError unless `times` is 1.
    """
    if times != 1:
        raise UsageError("fill: objects are written only once; allowed: 1")
    seen: set[tuple[str, str]] = set()
    return list(_fills(tasks, seen))


def _fills(tasks: Sequence[HostTask], seen: set[tuple[str, str]]) -> Iterator[HostTask]:
    for task in tasks:
        new = [each for each in task.objects if each.names and each.key not in seen]
        if not new:
            continue
        seen |= {each.key for each in new}
        put = sum(each.count * each.size_bytes for each in new)
        yield HostTask(
            host=task.host,
            randseed=task.randseed,
            job_file=_putting(task.job_file),
            argv=task.argv,
            writes_bytes=put,
            moves_bytes=put,
            objects=[replace(each, does=("put",)) for each in new],
        )


def _putting(script: str) -> str:
    """Turn a phase's script into one that puts the phase's objects once."""
    lines = re.sub(r"--(read|stat|delfiles|write) ", "--write ", script, count=1).splitlines()
    dropped = tuple(f"  --{name}" for name in ONLY_MEASURED)
    kept = [line for line in lines if not line.startswith(dropped)]
    return "\n".join([*kept, ""])
