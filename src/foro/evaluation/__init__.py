"""How well a model does on labelled images, and whether it is as sure as it is right."""

from foro.evaluation.evaluation import Bin, ClassResult, Evaluation
from foro.evaluation.paired import Comparison

__all__ = ["Bin", "ClassResult", "Comparison", "Evaluation"]
