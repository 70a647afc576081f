"""What is on disk: model files."""

from foro.store.model_file import read_model, write_model

__all__ = ["read_model", "write_model"]
