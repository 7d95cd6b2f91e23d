"""Learning: tasks made of machines, models that are trained on them, and many such runs at once."""

from glassformer.learn.architecture import Architecture
from glassformer.learn.evaluation import Score, evaluate
from glassformer.learn.tasks import FlipFlopLanguage, Following
from glassformer.learn.trainer import DivergedError, Settings, Trained, train

__all__ = [
    "Architecture",
    "DivergedError",
    "FlipFlopLanguage",
    "Following",
    "Score",
    "Settings",
    "Trained",
    "evaluate",
    "train",
]
