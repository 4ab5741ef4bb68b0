"""Methods that act on feature vectors."""
