"""What people use: the command line, the page, notebooks and drawings. Thin: no mathematics lives here."""
