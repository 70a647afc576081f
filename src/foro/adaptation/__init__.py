"""Prompt evolution: CMA-ES over prompt tokens, the fitness, the activation history."""

from foro.adaptation.evolution import PromptDistribution, PromptEvolution
from foro.adaptation.fitness import Fitness
from foro.adaptation.history import ActivationHistory

__all__ = ["ActivationHistory", "Fitness", "PromptDistribution", "PromptEvolution"]
