"""One way to open a model, whoever made it, and what can be asked of one that is open."""
