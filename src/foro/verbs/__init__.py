"""What a user does with model files: teach, unteach, merge, describe, predict."""
