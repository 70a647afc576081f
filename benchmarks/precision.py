"""Is a backbone with int8 weights as good, and how much faster? Beside float32, the same images and head.

    python benchmarks/precision.py [--train-per-class 8] [--test-per-class 5] [--image-size 224]

ViT-Ti/16 on a subset of CIFAR-100, weights quantised per channel; activations as they come, or by ranges that ONNX
Runtime's calibration found on some of the train images. Worth offering from 1.3 times the speed within 0.5 points.
Seconds are of processors; the accuracies are of the same test images.
"""

from __future__ import annotations

import argparse
import logging
import os
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
from common import VIT_TINY, cifar
from rich.console import Console
from rich.table import Table

from foro import Learner
from foro.backbones import Backbone, load_backbone, load_checkpoint
from foro.backbones.graph.vit import build_forward_graph
from foro.backbones.runtimes.onnx_runtime import OnnxBackbone
from foro.images.load import Images, pixel_batches

SEEDS = 5
"""Projections that the accuracy is the mean of; the features are the same."""

CALIBRATED = 64
"""Images that ranges of activations are found on."""


class Calibrated(OnnxBackbone):
    """With int8 weights, and for activations the ranges that ONNX Runtime's calibration finds on some images."""

    def calibrate(self, images: Images) -> None:
        from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static

        tokens = iter(self.embed(next(pixel_batches(images, self.preprocessing, len(images)))))
        none = np.empty((1, 0, self.dim), np.float32)

        class Reader(CalibrationDataReader):  # type: ignore[misc]
            def get_next(self) -> Any:
                each = next(tokens, None)
                return None if each is None else {"tokens": each[None], "prompts": none}

        graph = build_forward_graph(self.checkpoint())
        model = onnx.load_from_string(graph.model)
        for tensor in model.graph.initializer:
            if tensor.name in graph.weights:
                tensor.CopyFrom(onnx.numpy_helper.from_array(graph.weights[tensor.name], tensor.name))
        for number, node in enumerate(model.graph.node):
            node.name = str(number)
        # Those that have int8 weights in FoRo too.
        chosen = [each.name for each in model.graph.node if each.op_type == "Gemm" and "mlp.fc2" not in each.input[1]]
        logging.disable(logging.WARNING)
        with tempfile.TemporaryDirectory() as folder:
            whole, quantised = str(Path(folder, "whole.onnx")), str(Path(folder, "int8.onnx"))
            onnx.save(model, whole)
            types = {"activation_type": QuantType.QUInt8, "weight_type": QuantType.QInt8}
            how = {"quant_format": QuantFormat.QOperator, "nodes_to_quantize": chosen, "per_channel": True}
            quantize_static(whole, quantised, Reader(), **types, **how)
            options = onnxruntime.SessionOptions()
            options.intra_op_num_threads, options.log_severity_level = 1, 3
            self._sessions["forward"] = onnxruntime.InferenceSession(quantised, options)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--train-per-class", type=int, default=8)
    parser.add_argument("--test-per-class", type=int, default=5)
    parser.add_argument("--image-size", type=int, default=224)
    options = parser.parse_args()
    data = cifar(options.train_per_class, options.test_per_class)
    images = len(data.train) + len(data.test)
    size = f"{options.train_per_class} / {options.test_per_class} images a class"
    table = Table(title=f"ViT-Ti/16 at {options.image_size} px, CIFAR-100, {size}")
    for heading in ("", "images a second of a processor", "ratio", "accuracy", "points"):
        table.add_column(heading, justify="right" if heading else "left")
    first: tuple[float, np.ndarray] | None = None
    calibrated = Calibrated(load_checkpoint(VIT_TINY), image_size=options.image_size)
    calibrated.calibrate(data.train.images[:: len(data.train) // CALIBRATED][:CALIBRATED])
    backbones: dict[str, Backbone] = {
        "float32": load_backbone(VIT_TINY, image_size=options.image_size),
        "int8": load_backbone(VIT_TINY, image_size=options.image_size, precision="int8"),
        f"int8, ranges of {CALIBRATED} images": calibrated,
    }
    for precision, backbone in backbones.items():
        learner = Learner(backbone, projection_dim=2048)
        start = time.process_time()
        train, test = (learner.features(part.images) for part in (data.train, data.test))
        speed = images / (time.process_time() - start)
        right = []
        for seed in range(SEEDS):
            head = type(learner.head).build(learner.head.features, learner.readout.blocks(2048), learner.config, seed)
            head.absorb(train, data.train.labels)
            right.append([a == b for a, b in zip(head.predict(test), data.test.labels, strict=True)])
        correct = np.mean(right, axis=0)  # of each test image
        first = first or (speed, correct)
        difference = 100 * (correct - first[1])
        error = difference.std() / np.sqrt(len(difference))
        table.add_row(
            precision,
            f"{speed:.1f}",
            f"{speed / first[0]:.2f} ×",
            f"{100 * correct.mean():.1f} %",
            "" if precision == "float32" else f"{difference.mean():+.1f} ± {error:.1f}",
        )
    Console(width=120).print(table, f"load of the machine: {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
