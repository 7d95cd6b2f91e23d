"""What a person sees in a browser: one set of views for the served page, the report, and notebooks."""
