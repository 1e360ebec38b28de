"""Readers of exports that no package brings."""

from __future__ import annotations

from typing import Any


def cbt_details(document: Any) -> dict[str, Any]:
    """Take of fio's JSON what CBT's formatter takes: global options that must be there, and jobs
    that are added up.
    """
    shared = document["global options"]
    # CBT reads three digits behind it, where it stands there
    place = shared["write_iops_log"].find("iodepth")
    depth = max(
        int(shared["iodepth"]),
        int(shared["write_iops_log"][place + 8 : place + 11]) if place >= 0 else 0,
    )
    mix = f"{shared['rwmixread']}_{shared['rwmixwrite']}_" if "rwmixread" in shared else ""
    parts = [job[name] for job in document["jobs"] for name in ("read", "write")]
    assert all(
        isinstance(part["iops"], float) and isinstance(part["bw_bytes"], int) for part in parts
    )
    assert all({"mean", "stddev"} <= part["clat_ns"].keys() for part in parts)
    return {
        "operation": mix + shared["rw"],
        "iodepth": str(depth),
        "blocksize": shared["bs"][:-1],
        "runtime_seconds": shared["runtime"],
        "numjobs": shared["numjobs"],
        "io_bytes": sum(part["io_bytes"] for part in parts),
        "total_ios": sum(part["total_ios"] for part in parts),
    }
