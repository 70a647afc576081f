"""What runs a frozen vision transformer: ONNX Runtime, or torch."""
