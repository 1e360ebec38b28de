"""mdtest: file metadata operations by many MPI ranks."""

from __future__ import annotations
