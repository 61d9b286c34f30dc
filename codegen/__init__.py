"""From a mapping plan to tile programs."""
