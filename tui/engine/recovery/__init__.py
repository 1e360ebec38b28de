"""Going on with runs whose engine died."""
