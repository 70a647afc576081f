"""What a class is called."""

from __future__ import annotations

Label = str | int
