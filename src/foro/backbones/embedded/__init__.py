"""One file for each backbone inside the package; see ``foro.backbones.shipped``."""
