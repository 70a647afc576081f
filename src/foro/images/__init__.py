"""Any picture that a user has, as the upright RGB pixels that a backbone sees; folders and lists of pictures."""
