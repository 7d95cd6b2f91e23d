"""An encoder and a decoder, both the one Transformer: the decoder reads the encoder's vectors before its own tokens.

So one attention does what self-attention and cross-attention do, and a translator, too, maps tokens to logits: the
tokens are the source up to and with the first separator, which all sequences of a batch have at the same place, and
then what there is of the translation; nothing is asked at the source's positions. A translation begins at
the position behind the longest source, so that its nth token is at the same distance from the source's nth in all.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import nn

from glassformer.errors import InputError, whole_number
from glassformer.nn.attention import Residual
from glassformer.nn.config import Config, PlainConfig
from glassformer.nn.encoder_decoder import parted
from glassformer.nn.transformer import Logits, Tokens, Transformer, Unembed


@dataclass(frozen=True)
class TranslatorConfig(PlainConfig):
    """The shapes of both, and the token that ends a source."""

    nested: ClassVar = {"encoder": Config, "decoder": Config}

    encoder: Config
    decoder: Config
    separator: int

    def __post_init__(self) -> None:
        whole_number(self.separator, "nn.separator", least=0)
        if self.encoder.outputs != self.decoder.width:
            raise InputError("nn.decoder_width", width=self.decoder.width, outputs=self.encoder.outputs)


def encoder_of(model: nn.Module, source: str) -> Transformer:
    """The encoder of a translator; a Transformer as it is."""
    encoder = model.encoder if isinstance(model, Translator) else model
    if not isinstance(encoder, Transformer):
        raise InputError("nn.transformer_needed", source=source, kind=type(model).__name__)
    return encoder.eval()


class Translator(nn.Module):
    """tokens [batch, pos] → logits [batch, pos, output]."""

    def __init__(self, config: TranslatorConfig) -> None:
        super().__init__()
        self.config = config
        self.encoder = Transformer(config.encoder)
        self.decoder = Transformer(config.decoder)

    def forward(self, tokens: Tokens) -> Logits:
        """Encode the source, and go on behind it."""
        logits: Logits = self.unembed(self.read(tokens))
        return logits

    def read(self, tokens: Tokens) -> Residual:
        """The decoder's vectors that the logits are read off."""
        source, target = parted(tokens, self.config.separator)
        read = self.encoder.unembed(self.encoder.read(source))
        vectors = torch.cat([read, self.decoder.embed(target)], dim=1)
        behind = self.config.encoder.context + torch.arange(target.shape[1])
        return self.decoder.read(vectors, first=torch.cat([torch.arange(source.shape[1]), behind]))

    @property
    def unembed(self) -> Unembed:
        """From the decoder's vectors to logits."""
        return self.decoder.unembed
