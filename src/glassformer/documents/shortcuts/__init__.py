"""S0, Transformers learn shortcuts to automata: its claims and experiments."""
