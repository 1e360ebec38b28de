"""fio: job files, the live status stream, results, errors."""
