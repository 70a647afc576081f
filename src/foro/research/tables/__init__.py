"""Tables, curves and reports of results."""
