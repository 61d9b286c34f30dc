"""One package a problem: mapping, placement, exchange."""
