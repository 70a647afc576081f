"""Adaptation: CMA-ES over prompts and gains, the fitness, the activation history, the check."""
