"""Every run that was kept."""
