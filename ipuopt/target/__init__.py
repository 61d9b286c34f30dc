"""Facts about the target chip."""
