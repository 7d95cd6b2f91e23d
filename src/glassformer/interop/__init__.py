"""In and out of everybody else's tools: their models as the one Transformer, and ours as theirs."""
