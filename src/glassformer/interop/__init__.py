"""In and out of everybody else's tools: models of other libraries as the one Transformer, and as readers of text."""

from glassformer.interop.weights import load

__all__ = ["load"]
