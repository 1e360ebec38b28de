"""IOR: bandwidth of files that many MPI ranks write and read together."""

from __future__ import annotations
