"""Learning: tasks made of machines, models that are trained on them, and many such runs at once."""

from glassformer.training.architecture import Architecture
from glassformer.training.evaluation import Evaluation, evaluate
from glassformer.training.tasks import FlipFlopLanguage, StateTracking
from glassformer.training.trainer import DivergedError, Settings, Trained, train

__all__ = [
    "Architecture",
    "DivergedError",
    "Evaluation",
    "FlipFlopLanguage",
    "Settings",
    "StateTracking",
    "Trained",
    "evaluate",
    "train",
]
