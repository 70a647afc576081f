"""Data sets by name (``registry.load_dataset``); each is one file with one decorated function."""
