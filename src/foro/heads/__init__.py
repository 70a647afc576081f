"""Closed-form classifiers over feature vectors."""
