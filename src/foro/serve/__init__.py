"""The HTTP service and its page: teach and ask a model from a browser or with curl. Needs the extra ``serve``."""
