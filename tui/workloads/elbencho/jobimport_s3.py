"""What an elbencho command line says of S3, as the keys and parameters of a profile."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from tui.model.profile import Param
from tui.workloads.elbencho.options import STORE
from tui.workloads.elbencho.phases import Phase

SCHEME = "s3://"
KEYS = ("s3key", "s3secret", "s3sessiontoken", "s3credfile", "s3credlist")
URL = re.compile(r"(?:(https?)://)?([^/,\s]+)/?")
SECRETS = {
    "key_id": ("${AWS_ACCESS_KEY_ID}", "Access key ID"),
    "key": ("${AWS_SECRET_ACCESS_KEY}", "Secret access key"),
}


def is_of_store(name: str) -> bool:
    """Tell whether an option says where objects are, or with which keys."""
    return name in STORE


def option_told(name: str) -> str:
    """Return what becomes of an option with a key; empty: it is kept. Its value is not repeated."""
    return f"--{name} is left out: keys are read from environment variables" if name in KEYS else ""


def works_on_objects(store: Mapping[str, str], paths: Sequence[str]) -> bool:
    """Tell whether a command is about objects."""
    return "s3endpoints" in store or any(path.startswith(SCHEME) for path in paths)


def store_problems(store: Mapping[str, str], paths: Sequence[str]) -> list[str]:
    """Return why the objects of a command have no place in a profile."""
    found = []
    if "s3endpoints" not in store:
        found.append("no endpoint: --s3endpoints is needed")
    elif not URL.fullmatch(store["s3endpoints"]):
        found.append(f"--s3endpoints {store['s3endpoints']}: one endpoint is supported")
    if len(paths) > 1:
        found.append("one bucket is supported, not several")
    if any("/" in bucket_of(path) for path in paths):
        found.append(f"'{paths[0]}': a bucket is supported, not single objects: set -n and -N")
    return found


def bucket_of(path: str) -> str:
    """Return the bucket that a path names."""
    return path.removeprefix(SCHEME).rstrip("/")


def store_places(
    store: Mapping[str, str], paths: Sequence[str]
) -> tuple[dict[str, Param], list[str]]:
    """Return the parameters and the lines of a profile for where objects are."""
    match = URL.fullmatch(store["s3endpoints"])
    assert match is not None
    scheme, endpoint = match.groups()
    params = {
        "endpoint": Param(default=endpoint, kind="text", help="Host and port of the S3 service"),
        "bucket": Param(default=bucket_of(paths[0]), kind="text", help="A bucket that exists"),
        **{
            name: Param(default=default, kind="secret", help=about)
            for name, (default, about) in SECRETS.items()
        },
    }
    lines = [
        '  endpoint: "{endpoint}"',
        f'  https: "{"insecure" if scheme == "https" else "off"}"',
        '  bucket: "{bucket}"',
        f'  region: "{store.get("s3region", "us-east-1")}"',
        f'  prefix: "{store.get("s3objprefix", "")}"',
        '  key_id: "{key_id}"',
        '  key: "{key}"',
    ]
    return params, lines


def put_first(phase: Phase) -> list[str]:
    """Return the lines that have objects put before they are deleted."""
    wanted = phase.name == "rmobjects"
    return ["prepare: {precondition: {fill: 1, rounds: 0}}"] if wanted else []
