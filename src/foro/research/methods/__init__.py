"""The methods that need nothing but FoRo itself: each is one small class with one decorator."""
