"""S2, where the design choices of the Transformer come from: its claims and experiments."""
