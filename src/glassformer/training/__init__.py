"""Learning: tasks made of machines, models that are trained on them, and many such runs at once."""

from glassformer.training.architecture import Architecture
from glassformer.training.evaluation import Score, evaluate
from glassformer.training.tasks import FlipFlopLanguage, Following
from glassformer.training.trainer import DivergedError, Settings, Trained, train

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
