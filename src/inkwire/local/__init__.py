"""Models that need no key: the built-in reader, and servers that run on this machine."""
