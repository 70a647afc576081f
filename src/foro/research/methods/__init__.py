"""The methods that need nothing but FoRo itself, and what every method is."""
