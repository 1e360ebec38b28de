"""Runs as fio itself would have written them down, for tools that read fio's files."""
