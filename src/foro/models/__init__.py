"""Model files in use: kept through crashes, taught, merged and described."""
