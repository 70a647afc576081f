"""The HTTP side of the service: requests, limits, access and answers."""
