"""Turn runs, comparisons, searches and plans into text: documents of blocks, lines, tables."""
