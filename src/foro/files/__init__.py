"""What is on disk: model files."""

from foro.files.model_file import INFERENCE_ONLY, check_digests, explained, read_model, write_model

__all__ = ["INFERENCE_ONLY", "check_digests", "explained", "read_model", "write_model"]
