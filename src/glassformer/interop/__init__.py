"""Models of other libraries, for the same instruments."""
