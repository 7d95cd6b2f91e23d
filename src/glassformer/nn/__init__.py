"""The one Transformer: its config, its weights, the traces of its runs, and the folder it is kept in."""

from glassformer.nn.config import BlockShape, Config, PiecewiseLinear
from glassformer.nn.recurrent import LSTM, LSTMConfig
from glassformer.nn.trace import HookPoint, Trace
from glassformer.nn.transformer import Transformer

__all__ = ["LSTM", "BlockShape", "Config", "HookPoint", "LSTMConfig", "PiecewiseLinear", "Trace", "Transformer"]
