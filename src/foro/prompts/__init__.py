"""Prompt evolution: CMA-ES over prompt tokens, the fitness, the activation history."""

from foro.prompts.evolution import PromptDistribution, PromptEvolution
from foro.prompts.fitness import Fitness
from foro.prompts.history import ActivationHistory

__all__ = ["ActivationHistory", "Fitness", "PromptDistribution", "PromptEvolution"]
