"""Every attention that led here, as interchangeable parts, and the recurrent readers that had them first."""

from glassformer.lineage.readers import EncoderDecoder, ReaderConfig
from glassformer.lineage.scores import FAMILY, WINDOWS, Dot, Environment, Sizes, Told, part

__all__ = ["FAMILY", "WINDOWS", "Dot", "EncoderDecoder", "Environment", "ReaderConfig", "Sizes", "Told", "part"]
