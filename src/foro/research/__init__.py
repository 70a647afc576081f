"""The paper's protocol: streams through methods, results on disk, and every table and figure of the paper from them."""
