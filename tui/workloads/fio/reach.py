"""What an option of fio can reach on a host: every option that benchtui knows has a class, and only some are allowed.

Numbers, switches and words from a list shape the load and name nothing, but for those listed here. An option that takes
any text has a class of its own, and so has every engine. What would read, write or change something that the plan does
not name and nobody looks at before the run is refused, also behind `extra_options`.
"""

from __future__ import annotations

from collections.abc import Container
from typing import Literal

from tui.model.quantities import shown

Reach = Literal["load", "places", "targets", "access", "own", "refused"]
"""load: shapes the I/O. places: files and devices, which the plan lists. targets: images, pools and URLs, past any file
of the host; the plan lists them too. access: how an engine connects and logs in. own: a name in the private directory
that benchtui starts fio in, or in the control groups. refused: the rest."""

# Never with any value, by fio's own name.
UNSEEN = {
    "read_iolog": "what it replays, and on which files, is not known before the run",
    "replay_redirect": "what is replayed is not known before the run",
    "merge_blktrace_file": "fio would write a file that no plan names",
    "profile": "fio would run jobs of its own; write them under 'jobs'",
    "libblkio_path": "nobody looks at that device before the run; name it with 'filename'",
    "libblkio_pre_connect_props": "it can name a device that nobody looks at before the run",
    "ioscheduler": "it changes the device for everybody; set it on the hosts, benchtui records it",
    "donorname": "fio would overwrite and remove a file that no plan names",
    "dp_scheme": "fio would read a file of the host that no plan names",
    "verify_state_load": "the state of an earlier run is not in the directory that benchtui starts fio in",
    "allow_mounted_write": "a device that is mounted is not written to",
    "cgroup_nodelete": "a control group would stay behind on the host",
    "aux-path": "benchtui starts fio in a directory of its own",
    "program": "no command of a profile runs on a host",
    "arguments": "no command of a profile runs on a host",
}
SWITCHED_OFF = ("0", "false", "no")
SWITCHES = ("verify_state_load", "allow_mounted_write", "cgroup_nodelete")  # of these, what is off is harmless

PLACES = ("filename", "directory", "filename_format", "opendir")
TARGETS: dict[str, tuple[str, ...]] = {
    "rbd": ("rbdname",),
    "nbd": ("uri",),
    "rados": ("pool",),
    "gfapi": ("volume",),
    "gfapi_async": ("volume",),
    "libhdfs": ("hdfsdirectory",),
    "http": ("filename",),
    "nfs": ("nfs_url",),
    "dfs": ("cont",),
    "libiscsi": ("filename",),
}
"""Engines whose data lies past any file of the host, and the options that say where."""
ACCESS = (
    "pool", "svcl", "object_class", "brick", "http_host", "http_user", "http_pass", "http_s3_key", "http_s3_keyid",
    "http_s3_security_token", "http_swift_auth_token", "http_s3_region", "http_s3_sse_customer_key",
    "http_s3_sse_customer_algorithm", "http_s3_storage_class", "libblkio_driver", "libblkio_pre_start_props",
    "gpu_dev_ids", "namenode", "hostname", "initiator", "interface", "clustername", "clientname", "conf",
    "rbd_encryption_format", "rbd_encryption_passphrase", "bindname", "xnvme_be", "xnvme_mem", "xnvme_async",
    "xnvme_sync", "xnvme_admin", "xnvme_dev_subnqn",
)  # fmt: skip
OWN = ("write_iolog", "write_bw_log", "write_lat_log", "write_iops_log", "write_hist_log", "cgroup", "verify_dump",
       "verify_state_save")  # fmt: skip
TEXTS_OF_LOAD = (
    "description", "name", "wait_for", "bssplit", "percentage_sequential", "verifysort", "verifysort_nr",
    "verify_pattern", "buffer_pattern", "verify_async_cpus", "replay_skip", "plids", "rwmixcycle", "comm",
    "cpus_allowed", "numa_cpu_nodes", "numa_mem_policy", "log_compression_cpus", "ignore_error", "flow_watermark",
    "cmdprio_bssplit", "write_mode", "pi_chk", "ioengine", "mem",
)  # fmt: skip
IN_A_FILE = ("image", "rbdname", "uri", "filename")  # what engines that are loaded from a file call their image
ENGINES_OF_FILES = (
    "sync", "psync", "vsync", "pvsync", "pvsync2", "libaio", "aio", "linuxaio", "io_uring", "io_uring_cmd", "posixaio",
    "mmap", "splice", "falloc", "ftruncate", "e4defrag", "filecreate", "filestat", "filedelete", "dircreate", "dirstat",
    "dirdelete", "dev-dax", "libpmem", "sg", "mtd", "libzbc", "xnvme", "libcufile", "libhipfile", "ime_aio",
    "ime_psync", "ime_psyncv", "windowsaio", "solarisaio",
)  # fmt: skip
ENGINES_OF_NOTHING = ("null", "cpuio", "page_fault")
ENGINES_OF_NETWORKS = ("net", "netsplice", "rdma")  # what they send is stored nowhere
UNSEEN_ENGINES = {
    "exec": "no command of a profile runs on a host",
    "pmemblk": "the name of its file holds more than a path, and nobody looks at that file before the run",
    "libblkio": "nobody looks at its device before the run",
}
_TARGET_OPTIONS = frozenset(name for names in TARGETS.values() for name in names) - frozenset(PLACES)
_CLASSES: dict[str, Reach] = {
    **dict.fromkeys(TEXTS_OF_LOAD, "load"),
    **dict.fromkeys(ACCESS, "access"),
    **dict.fromkeys(_TARGET_OPTIONS, "targets"),
    **dict.fromkeys(PLACES, "places"),
    **dict.fromkeys(OWN, "own"),
    **dict.fromkeys((*UNSEEN, "exec_prerun", "exec_postrun"), "refused"),
}
_PATTERNS = ("verify_pattern", "buffer_pattern")


def reach_of(name: str, kind: str) -> Reach | None:
    """Return what an option, by fio's own name, can reach; `kind` is its type in the table. None: nobody has said."""
    found = _CLASSES.get(name)
    return found or (None if kind == "text" else "load")


def reach_of_engine(engine: str) -> Reach | None:
    """Return what an engine of fio's own can reach; None: nobody has said."""
    classes: tuple[tuple[Reach, Container[str]], ...] = (
        ("load", ENGINES_OF_NOTHING), ("access", ENGINES_OF_NETWORKS), ("places", ENGINES_OF_FILES),
        ("targets", TARGETS), ("refused", UNSEEN_ENGINES),
    )  # fmt: skip
    return next((reach for reach, engines in classes if engine in engines), None)


def target_problem(engine: str, *, external: bool, writes: bool, names: Container[str]) -> str | None:
    """Return why a job that writes past any file of the host cannot be allowed to: none of its options says where."""
    named_by = IN_A_FILE if external else TARGETS.get(engine, ())
    if not writes or not named_by or any(name in names for name in named_by):
        return None
    return f"{engine} needs {' or '.join(named_by)} here: nothing else says what it overwrites"


def reach_problem(name: str, text: str) -> str | None:
    """Return why an option, by fio's own name, reaches what the safety rules do not see, or None."""
    if (reason := UNSEEN.get(name)) and not (name in SWITCHES and text in SWITCHED_OFF):
        return f"found {shown(text)}; it is not allowed: {reason}"
    if name == "ioengine" and (reason := UNSEEN_ENGINES.get(text)):
        return f"found '{text}': {reason}"
    if name in _PATTERNS and "'" in text:
        return f"found {shown(text)}; a pattern from a file is not allowed: fio would read a file that no plan names"
    if is_log(name) and ("/" in text or "$" in text):
        return f"found {shown(text)}; a log is given by its plain name: fio overwrites what stands at a path"
    if name in ("iomem", "mem") and text.startswith("mmap") and ":" in text:
        return f"found {shown(text)}; memory from a file is not allowed: fio overwrites that file"
    if name == "cgroup" and ".." in text.split("/"):
        return f"found {shown(text)}; the name of a control group has no '..'"
    return None


def is_log(name: str) -> bool:
    """Tell whether an option names a log that fio writes."""
    return name.startswith("write_") and name.endswith("log")
