"""Data on disk and from generators: files, synthetic worlds, public sets by name."""
