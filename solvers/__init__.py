"""Back ends and search loops that know nothing of IPUs."""
