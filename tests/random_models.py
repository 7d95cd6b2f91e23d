"""Models whose every weight is large enough to matter."""

from typing import TypeVar

import torch
from torch import nn

Model = TypeVar("Model", bound=nn.Module)


def randomised(model: Model, std: float = 0.3) -> Model:
    """The model in float64, with the same random weights each time."""
    torch.manual_seed(0)
    model.double()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(std=std)
    return model.eval()
