"""IOR: bandwidth of files that many MPI ranks write and read at the same time."""

from __future__ import annotations
