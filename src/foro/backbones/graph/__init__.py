"""ONNX graphs of frozen vision transformers, written without the onnx package."""
