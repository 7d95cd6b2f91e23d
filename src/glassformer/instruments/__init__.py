"""Measuring: instruments that take the one Transformer and a trace of it, and never ask where it came from."""

from glassformer.instruments.heads import HeadScore, score_heads

__all__ = ["HeadScore", "score_heads"]
