"""S1, transformers as universal approximators of sequence-to-sequence functions: its claims and experiments."""
