"""Predicting, and nothing that only learning needs."""
