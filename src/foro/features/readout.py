"""From the CLS of every layer to the feature vector that the classifier sees."""

from __future__ import annotations

import numpy as np

from foro.types import Float32


def readout(layers: Float32, readout_layers: int = 1) -> Float32:
    """Features (n, k · dim) of CLS tokens (n, depth, dim): the last one as it is, or the last k, standardised.

    Each token is standardised by its own mean and deviation, so that a feature never depends on other samples.
    """
    if readout_layers == 1:
        return np.ascontiguousarray(layers[:, -1])
    last = layers[:, -readout_layers:]
    centred = last - last.mean(axis=2, keepdims=True)
    scale = np.sqrt((centred**2).mean(axis=2, keepdims=True)) + np.float32(1e-6)
    return np.ascontiguousarray((centred / scale).reshape(len(last), -1))
