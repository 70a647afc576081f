"""The paper's tables and figures: each is one file that says which runs it needs and how they are laid out."""
