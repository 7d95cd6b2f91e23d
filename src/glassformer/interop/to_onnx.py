"""A model as ONNX, with any batch and length, and its attention patterns as outputs if they are wanted."""

from __future__ import annotations

import copy
import logging
import warnings

import torch
from torch import Tensor, nn

from glassformer.errors import optional
from glassformer.nn import Transformer

MODEL = "model.onnx"


class Graph(nn.Module):
    """tokens → logits, and patterns of all layers that attend."""

    def __init__(self, model: Transformer, patterns: bool) -> None:
        super().__init__()
        self.model = model
        self.wanted = [name for name in model.hook_names if name.endswith("hook_pattern")] if patterns else []

    def forward(self, tokens: Tensor) -> tuple[Tensor, ...]:
        """One run."""
        if not self.wanted:
            return (self.model(tokens),)
        logits, seen = self.model.run_with_cache(tokens, self.wanted)
        return (logits, *(seen[name] for name in self.wanted))


def onnx(model: Transformer, patterns: bool = False) -> bytes:
    """The file: input `tokens`, outputs `logits` and, by their hooks' names, patterns."""
    for module in ("onnx", "onnxscript"):
        optional(module, "interop.needs_onnx")
    if model.dtype in (torch.float16, torch.bfloat16):
        model = copy.deepcopy(model).float()  # the same numbers; who reads ONNX knows half precision badly
    graph = Graph(model.eval(), patterns)
    batch, length = torch.export.Dim("batch", min=1), torch.export.Dim("length", min=1, max=model.config.context)
    length_now = min(3, model.config.context)
    logging.getLogger("torch.onnx").setLevel(logging.ERROR)  # of libraries that are not there and not needed
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        program = torch.onnx.export(
            graph,
            (torch.zeros(2, length_now, dtype=torch.int64),),
            dynamo=True,
            input_names=["tokens"],
            output_names=["logits", *graph.wanted],
            dynamic_shapes=({0: batch, 1: length},),
            verbose=False,
        )
    assert program is not None
    made: bytes = program.model_proto.SerializeToString()
    return made
