"""The closed-form classifier: random projection, sufficient statistics, regularisation, solver."""

from foro.knowledge.encoder import KnowledgeEncoder, Label, Regularisation
from foro.knowledge.projection import RandomProjection
from foro.knowledge.reference import RecursiveReference

__all__ = ["KnowledgeEncoder", "Label", "RandomProjection", "RecursiveReference", "Regularisation"]
