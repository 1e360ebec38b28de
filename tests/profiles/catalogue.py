"""What was published, as data: the options that each fio preset must render to, read from the
sources and not from the presets. Values stand as fio reads them; paths are those of the first host,
named h1.
"""

from __future__ import annotations

from dataclasses import dataclass

Options = dict[str, str]

# What every job file of ours holds besides, unless the preset says it itself.
ADDED = {
    "group_reporting": "1", "exitall_on_error": "1", "lat_percentiles": "1", "randrepeat": "0",
    "percentile_list": "1:5:10:25:50:75:90:95:99:99.5:99.9:99.95:99.99",
}  # fmt: skip


@dataclass(frozen=True)
class Workload:
    """One preset: its job's name and options ([global] and its own), its figure, the clients of the
    published run.
    """

    job: str
    options: Options
    headline: tuple[str, str, float | None]
    clients: int | None = None
    points: tuple[Options, ...] = ()  # values of a sweep by parameter, as text
    caches: str = "no"
    latency: str = "clat"
    layout: bool = True


def points(names: str, *rows: str) -> tuple[Options, ...]:
    """Points of a sweep: `names` and each row are words."""
    return tuple(dict(zip(names.split(), row.split(), strict=True)) for row in rows)


# MapR: one command; random I/O on one file of 1 TiB for each client, 100 threads.
def mapr(rw: str, bs: str, metric: str, clients: int = 1) -> Workload:
    options = {
        "filename": "/mapr/my.cluster.com/hdd/h1", "direct": "1", "iodepth": "1", "thread": "1",
        "rw": rw,
        "ioengine": "psync", "bs": bs, "size": "1T", "numjobs": "100", "runtime": "1000s",
        "group_reporting": "1",
    }  # fmt: skip
    return Workload("mytest", options, (metric, rw.removeprefix("rand"), None), clients)


MAPR = {
    "mapr/nfs-randread-8k": mapr("randread", "8k", "iops"),
    "mapr/nfs-randwrite-8k": mapr("randwrite", "8k", "iops"),
    "mapr/nfs-randread-256k": mapr("randread", "256k", "bandwidth"),
    "mapr/nfs-randwrite-256k": mapr("randwrite", "256k", "bandwidth"),
    "mapr/nfs-randwrite-256k-4c": mapr("randwrite", "256k", "bandwidth", 4),
}


# WEKA: one [global], six job sections.
def weka(
    job: str, rw: str, bs: str, numjobs: str, filesize: str, names: str, metric: str
) -> Workload:
    options = {
        "filesize": filesize, "time_based": "1", "numjobs": numjobs, "startdelay": "5",
        "exitall_on_error": "1",
        "create_serialize": "0", "filename_format": f"$jobnum/$filenum/{names}.$jobnum.$filenum",
        "directory": "/mnt/weka/fio/h1", "group_reporting": "1", "clocksource": "gettimeofday",
        "runtime": "300s", "ioengine": "posixaio", "disk_util": "0", "iodepth": "1",
        "bs": bs, "rw": rw, "direct": "1", "new_group": "1",
    }  # fmt: skip
    percentile = 99.5 if metric == "latency" else None
    return Workload(job, options, (metric, rw.removeprefix("rand"), percentile), caches="try")


WEKA = {
    "weka/read-throughput": weka("read_throughput", "read", "1m", "32", "128G", "bw", "bandwidth"),
    "weka/write-throughput": weka(
        "write_throughput", "write", "1m", "32", "128G", "bw", "bandwidth"
    ),
    "weka/read-iops": weka("read_iops", "randread", "4k", "192", "4G", "iops", "iops"),
    "weka/write-iops": weka("write_iops", "randwrite", "4k", "192", "4G", "iops", "iops"),
    "weka/read-latency": weka("read_latency", "randread", "4k", "1", "4G", "iops", "latency"),
    "weka/write-latency": weka("write_latency", "randwrite", "4k", "1", "4G", "iops", "latency"),
}

# Ceph: jobs and blocks, row by row.
CEPH_ROWS = (
    "1 4k", "1 8k", "1 16k", "1 32k", "1 64k", "1 128k", "1 256k", "1 512k", "1 1M", "1 2M", "1 4M",
    "1 32M",
    "2 512k", "2 1M", "4 1M", "8 1M", "16 1M",
)  # fmt: skip
# of reads; 8k is printed as 4k
CEPH_FAST_ROWS = ("16 4k", "16 8k", "16 16k", "16 32k", "16 64k", "16 128k")


def ceph(rw: str, *, credible: bool = False) -> Workload:
    rows = CEPH_ROWS + (CEPH_FAST_ROWS if rw == "randread" else ())
    options = {
        "filename": "/mnt/cephfs/fio.1", "direct": "1", "rw": rw, "size": "4G", "numjobs": "1",
        "bs": "4k",
        "runtime": "60s" if credible else "10s", "group_reporting": "1", "ioengine": "psync",
        "iodepth": "1",
        **({"time_based": "1"} if credible else {}),
    }  # fmt: skip
    headline = ("bandwidth", rw.removeprefix("rand"), None)
    return Workload(
        "pc", options, headline, 1, points("numjobs bs", *rows), "try" if credible else "no"
    )


CEPH = {
    "ceph/randread": ceph("randread"),
    "ceph/randread-60s": ceph("randread", credible=True),
    "ceph/randwrite": ceph("randwrite"),
    "ceph/randwrite-60s": ceph("randwrite", credible=True),
}

# AERODISK: two LUNs, 16 jobs with queue depth 32 over both, 15 minutes of warm-up, one hour.
AERODISK_COMMON = {
    "ioengine": "libaio", "direct": "1", "invalidate": "1", "time_based": "1", "ramp_time": "900s",
    "runtime": "3600s", "numjobs": "16", "iodepth": "32", "group_reporting": "1",
    "file_service_type": "roundrobin",
    "filename": "/dev/mapper/lun_a:/dev/mapper/lun_b",
}  # fmt: skip
AERODISK_REGION = {"size": "6%", "offset_increment": "6%"}  # a sixteenth of each LUN, rounded down
AERODISK = {
    "aerodisk/oltp-4k-70r30w": Workload(
        "oltp", {**AERODISK_COMMON, "rw": "randrw", "rwmixread": "70", "bs": "4k",
            "norandommap": "1"},
        ("iops", "mixed", None), 1, layout=False,
    ),
    "aerodisk/seqwrite-128k": Workload(
        "seqwrite", {**AERODISK_COMMON, **AERODISK_REGION, "rw": "write", "bs": "128k"},
        ("bandwidth", "write", None), 1, layout=False,
    ),
    "aerodisk/seqread-128k": Workload(
        "seqread", {**AERODISK_COMMON, **AERODISK_REGION, "rw": "read", "bs": "128k"},
        ("bandwidth", "read", None), 1, layout=False,
    ),
}  # fmt: skip


# Vitastor: T threads in total with queue depth Q, on an image, or on a file or device.
def vitastor(
    rw: str, bs: str, t: str, q: str, metric: str, *, file: bool = False, fsync: bool = False
) -> Workload:
    options = {
        "thread": "1", "direct": "1", "rw": rw, "bs": bs, "numjobs": t, "iodepth": q,
        "runtime": "60s",
        "group_reporting": "1", **({"fsync": "0"} if fsync else {}),
    }  # fmt: skip
    own = {"ioengine": "libfio_vitastor.so", "image": "testimg"}
    if file:
        own = {
            "ioengine": "libaio", "filename": "/dev/vduse0", "size": "100%", "invalidate": "1",
            "time_based": "1",
        }  # fmt: skip
    headline = (metric, rw.removeprefix("rand"), None)
    return Workload("test", {**options, **own}, headline, 1 if t == "1" else 3, layout=file)


def raw(rw: str, bs: str, q: str, metric: str) -> Workload:
    options = {
        "ioengine": "libaio", "direct": "1", "invalidate": "1", "time_based": "1", "runtime": "60s",
        "size": "100%",
        "filename": "/dev/nvme0n1", "rw": rw, "bs": bs, "numjobs": "1", "iodepth": q,
        "group_reporting": "1",
        **({"fsync": "0"} if rw == "randwrite" else {}),
    }  # fmt: skip
    series = (
        points("threads iodepth", "1 1", "1 16", "1 32", "1 128", "4 128")
        if rw.startswith("rand")
        else ()
    )
    return Workload("test", options, (metric, rw.removeprefix("rand"), None), 1, series)


VITASTOR_ROWS = {
    "linear-read-4m": ("read", "4M", "6", "16", "bandwidth"),
    "linear-write-4m": ("write", "4M", "6", "16", "bandwidth"),
    "read-4k-t1q1": ("randread", "4k", "1", "1", "iops"),
    "write-4k-t1q1": ("randwrite", "4k", "1", "1", "iops"),
    "read-4k-t12q128": ("randread", "4k", "12", "128", "iops"),
    "write-4k-t12q128": ("randwrite", "4k", "12", "128", "iops"),
}
VITASTOR = {
    **{
        f"vitastor/{name}": vitastor(*row, fsync=name == "write-4k-t1q1")
        for name, row in VITASTOR_ROWS.items()
    },
    **{
        f"vitastor/{name}-file": vitastor(*row, file=True, fsync=name == "write-4k-t1q1")
        for name, row in VITASTOR_ROWS.items()
    },
    "vitastor/raw-linear-read": raw("read", "4M", "32", "bandwidth"),
    "vitastor/raw-linear-write": raw("write", "4M", "32", "bandwidth"),
    "vitastor/raw-randread": raw("randread", "4k", "1", "iops"),
    "vitastor/raw-randwrite": raw("randwrite", "4k", "1", "iops"),
}


# wekatester: three sets with one [global], and wekawithin with another. Its 1Mi is written 1m here:
# the same bytes.
def tester(
    job: str, rw: str, bs: str, iodepth: str, filesize: str, runtime: str, numjobs: str,
    metric: str,
    directory: str = "/mnt/weka",
) -> Workload:  # fmt: skip
    mixed = rw in ("rw", "randrw")
    options = {
        "filesize": filesize, "time_based": "1", "startdelay": "5", "exitall_on_error": "1",
        "create_serialize": "0",
        "filename_format": "$filenum/$jobnum", "directory": f"{directory}/h1",
        "group_reporting": "1",
        "clocksource": "gettimeofday", "runtime": runtime, "ioengine": "libaio", "disk_util": "0",
        "direct": "1",
        "numjobs": numjobs, "bs": bs, "rw": rw, "iodepth": iodepth,
        **({"rwmixread": "70"} if mixed else {}),
    }  # fmt: skip
    direction = "mixed" if mixed else rw.removeprefix("rand")
    return Workload(job, options, (metric, direction, None), latency="lat")


def within(job: str, rw: str, bs: str, numjobs: str, metric: str) -> Workload:
    mixed = rw == "randrw"
    options = {
        "filesize": "4G", "time_based": "1", "startdelay": "5", "ramp_time": "3s",
        "fallocate": "none",
        "exitall_on_error": "1", "create_serialize": "0", "filename_format": "wekawithin/$jobnum",
        "directory": "/mnt/weka/h1", "group_reporting": "1", "clocksource": "gettimeofday",
        "runtime": "180s",
        "ioengine": "libaio", "disk_util": "0", "disable_slat": "1", "direct": "1",
        "invalidate": "1",
        "numjobs": numjobs, "bs": bs, "rw": rw, "iodepth": "16",
        **({"rwmixread": "70"} if mixed else {}),
    }  # fmt: skip
    return Workload(job, options, (metric, "mixed" if mixed else rw.removeprefix("rand"), None))


MIXED = "/mnt/wekatester"
WEKATESTER = {
    "wekatester/bandwidth-read": tester(
        "fio-bandwidthSR-00", "read", "1m", "1", "10G", "30s", "32", "bandwidth"
    ),
    "wekatester/bandwidth-write": tester(
        "fio-bandwidthSW-00", "write", "1m", "1", "10G", "30s", "32", "bandwidth"
    ),
    "wekatester/latency-read": tester(
        "fio-latencyR-00", "randread", "4k", "1", "10G", "30s", "1", "latency"
    ),
    "wekatester/latency-write": tester(
        "fio-latencyW-00", "randwrite", "4k", "1", "10G", "30s", "1", "latency"
    ),
    "wekatester/iops-read": tester(
        "fio-iopsR-00", "randread", "4k", "8", "10G", "30s", "64", "iops"
    ),
    "wekatester/iops-write": tester(
        "fio-iopsW-00", "randwrite", "4k", "8", "10G", "30s", "64", "iops"
    ),
    "wekatester/2x400gb-bandwidth-read": tester(
        "fio-bandwidthSR-00", "read", "1m", "1", "10G", "150s", "80", "bandwidth"
    ),
    "wekatester/mixed-bandwidth": tester(
        "fio-bandwidthSR-00", "rw", "1m", "1", "2G", "30s", "32", "bandwidth", MIXED
    ),
    "wekatester/mixed-iops": tester(
        "fio-iopsR-00", "randrw", "4k", "1", "2G", "30s", "64", "iops", MIXED
    ),
    "wekatester/mixed-latency": tester(
        "fio-latencyR-00", "randrw", "4k", "1", "2G", "30s", "1", "latency", MIXED
    ),
    "wekatester/wekawithin-1m-read": within("fio_1M_reads", "read", "1m", "32", "bandwidth"),
    "wekatester/wekawithin-1m-write": within("fio_1M_writes", "write", "1m", "32", "bandwidth"),
    "wekatester/wekawithin-128k-read": within(
        "fio_128k_reads", "randread", "128k", "32", "bandwidth"
    ),
    "wekatester/wekawithin-128k-write": within(
        "fio_128k_writes", "randwrite", "128k", "64", "bandwidth"
    ),
    "wekatester/wekawithin-4k-read": within("fio_4k_reads", "randread", "4k", "200", "iops"),
    "wekatester/wekawithin-4k-write": within("fio_4k_writes", "randwrite", "4k", "200", "iops"),
    "wekatester/wekawithin-4k-mixed": within("fio_4k_mixed_70_30", "randrw", "4k", "200", "iops"),
}


# Metadata by fio's own engines: not published anywhere.
def metadata(job: str, engine: str, operation: str) -> Workload:
    options = {
        "ioengine": engine, "create_on_open": "1", "filesize": "4k", "bs": "4k", "nrfiles": "10000",
        "file_service_type": "sequential", "filename_format": "bt.$jobnum/f.$filenum",
        "directory": "/mnt/test/h1",
        "group_reporting": "1", "numjobs": "16",
    }  # fmt: skip
    caches = "try" if job == "stat" else "no"
    return Workload(job, options, ("ops", operation, None), caches=caches, layout=False)


METADATA = {
    "fio-metadata/create": metadata("create", "filecreate", "create"),
    "fio-metadata/stat": metadata("stat", "filestat", "stat"),
    "fio-metadata/delete": metadata("delete", "filedelete", "remove"),
}

PUBLISHED = {**AERODISK, **CEPH, **MAPR, **VITASTOR, **WEKA, **WEKATESTER}
WORKLOADS = {**PUBLISHED, **METADATA}

# Suites: their profiles in order.
SIX = (
    "bandwidth-read",
    "bandwidth-write",
    "latency-read",
    "latency-write",
    "iops-read",
    "iops-write",
)
WITHIN = ("1m-read", "1m-write", "128k-read", "128k-write", "4k-read", "4k-write", "4k-mixed")
SUITES = {
    "ai/checkpoint": ["ai/checkpoint-write", "ai/checkpoint-restore"],
    "apps/database-beside-bulk": ["apps/database-log", "ai/training-large-samples",
        "apps/database-log"],
    "aerodisk/all": ["aerodisk/oltp-4k-70r30w", "aerodisk/seqwrite-128k", "aerodisk/seqread-128k"],
    "ceph/all": ["ceph/randread", "ceph/randwrite"],
    "elbencho/files": [f"elbencho/files-{name}" for name in ("mkdirs", "write", "stat", "read",
        "rm", "rmdirs")],
    "fio-metadata/all": ["fio-metadata/create", "fio-metadata/stat", "fio-metadata/delete"],
    "vitastor/all": [f"vitastor/{name}" for name in VITASTOR_ROWS],
    "weka/all": [
        "weka/read-throughput", "weka/write-throughput", "weka/read-iops", "weka/write-iops",
        "weka/read-latency",
        "weka/write-latency", "weka/mdtest",
    ],
    "weka/fio": [
        "weka/read-throughput", "weka/write-throughput", "weka/read-iops", "weka/write-iops",
        "weka/read-latency",
        "weka/write-latency",
    ],
    "wekatester/default": [f"wekatester/{name}" for name in SIX],
    "wekatester/2x400gb": ["wekatester/2x400gb-bandwidth-read",
        *(f"wekatester/{name}" for name in SIX[1:])],
    "wekatester/mixed": ["wekatester/mixed-bandwidth", "wekatester/mixed-iops",
        "wekatester/mixed-latency"],
    "wekatester/wekawithin": [f"wekatester/wekawithin-{name}" for name in WITHIN],
}  # fmt: skip
SEARCHES = [
    f"capacity/{name}" for name in ("etcd-fsync", "nfs-8k", "oltp-4k-70r30w", "weka-read-latency")
]
ELBENCHO = [f"elbencho/{name}" for name in ("large-write", "large-randread", "randread-latency")]
IO500 = ["io500/standard", "io500/trial"]
# Derived from what was published of applications: the profiles themselves say what is whose. Of
# each job: bytes and pattern, calculated here from the figures of its source.
GIB = 1 << 30
PART = 8.03e9 * (2 + 12) / 8  # llama_8b_zero3: fp16 weights, fp32 optimizer, 8 accelerators
TOKEN = 32 * 8 * 128 * 2 * 2  # Llama 3.1 8B: layers, KV heads, values, keys and values, fp16
UNET3D, RESNET50 = 146_600_628, 1251 * 114_688  # bytes of a file; samples in one of 112 KiB
STREAM = 36e6 / 8  # SPEC SFS 2014 VDA: bits per second


@dataclass(frozen=True)
class DerivedJob:
    """One job of a preset that is derived: what fio is told, and sizes in bytes."""

    options: Options
    sizes: dict[str, float]


DERIVED_JOBS = {
    "ai/checkpoint-restore": {
        "parts": DerivedJob({"rw": "read", "numjobs": "8"}, {"filesize": PART}),
    },
    "ai/checkpoint-write": {
        "parts": DerivedJob({"rw": "write", "numjobs": "8", "end_fsync": "1"}, {"filesize": PART}),
    },
    "ai/kv-cache": {"chunks": DerivedJob({"rw": "randrw", "direct": "1"}, {"bs": 256 * TOKEN})},
    "ai/training-large-samples": {
        "samples": DerivedJob(
            {"rw": "read", "numjobs": "4", "file_service_type": "sequential"},
            {"filesize": UNET3D},
        ),
    },
    "ai/training-small-samples": {
        "samples": DerivedJob(
            {"rw": "randread", "numjobs": "8", "nrfiles": "128"},
            {"bs": 114_660, "filesize": RESNET50},
        ),
    },
    "ai/vector-search": {
        "search": DerivedJob(
            {"rw": "randread", "iodepth": "4", "iodepth_batch_complete_min": "4", "direct": "1"},
            {"bs": 4096},
        ),
    },
    "apps/database-log": {
        "data": DerivedJob({"rw": "randrw"}, {"bs": 8192}),
        "log": DerivedJob({"rw": "write", "fdatasync": "1"}, {"bs": 8192}),
    },
    "apps/video-ingest": {"stream": DerivedJob({"rw": "write"}, {"rate": STREAM})},
    "apps/vm-boot-storm": {
        "desktop": DerivedJob(
            {"rw": "randrw", "rwmixread": f"{560 / (560 + 25):.0%}".rstrip("%")},
            {"bs": 560e6 / 70_000},
        ),
    },
}
DERIVED = list(DERIVED_JOBS)
TOOLS = [*IO500, *SEARCHES, *ELBENCHO, *SUITES["elbencho/files"]]
ELBENCHO_S3 = ("put", "head", "get", "delete", "small", "large-put", "large-get", "large")
S3 = [
    *("s3/put", "s3/get", "s3/delete", "s3/all"),
    *(f"elbencho/s3-{name}" for name in ELBENCHO_S3),
]
OTHERS = ["demo/quick", "weka/mdtest", "ior/file-per-process", *TOOLS, *DERIVED, *S3]
