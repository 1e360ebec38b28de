"""Text for screens and plain output: lines of styled runs, columns, tables, charts as cells."""
