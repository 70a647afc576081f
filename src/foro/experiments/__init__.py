"""The paper's protocol: metrics."""
