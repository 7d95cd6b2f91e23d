"""From a machine to weights: constructions as programs over named registers, with certificates."""

from glassformer.compiler.build import Built, compile
from glassformer.compiler.certificate import Certificate, Margins
from glassformer.compiler.description import describe
from glassformer.compiler.elsewhere.recurrent import recurrent_network
from glassformer.compiler.verification import Report, verify

__all__ = ["Built", "Certificate", "Margins", "Report", "compile", "describe", "recurrent_network", "verify"]
