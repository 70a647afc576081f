"""What the service does: it predicts in batches, and one thread changes the model."""
