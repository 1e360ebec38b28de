"""Turn runs, comparisons, searches and plans into documents of blocks, in words."""
