"""The tables and figures of the paper: the runs that each needs, and how they are laid out."""
