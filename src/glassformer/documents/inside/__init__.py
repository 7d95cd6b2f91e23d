"""S4, transformer and MLP: its claims and experiments."""
