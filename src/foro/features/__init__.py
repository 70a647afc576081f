"""From images to the feature vectors that a head sees."""
