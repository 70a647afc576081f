"""Models to predict with elsewhere: one ONNX graph from an image to probabilities, or a small file for FoRo."""

from foro.files.export.exporter import Exported, export_model

__all__ = ["Exported", "export_model"]
