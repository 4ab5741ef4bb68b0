"""Methods that act on sounds."""
