"""Model shapes: what :mod:`minispec.lab.roofline.counts` needs to know of a decoder-only transformer."""

from __future__ import annotations

from dataclasses import dataclass

from minispec.engine.model.config import GPT2Config
from minispec.errors import OptionError, quote, suggest


@dataclass(frozen=True, slots=True)
class Shape:
    """Sizes of a decoder-only transformer; GPT-2's by default, Llama's with the switches.

    Attributes
    ----------
    name : str
    vocab_size, n_positions, n_embd, n_layer, n_head, n_inner : int
        As in :class:`minispec.engine.model.GPT2Config`.
    n_kv_head : int
        Heads whose keys and values are kept; fewer than ``n_head`` where query heads share them (grouped queries).
    gated : bool
        The MLP has a second input matrix that gates the first (SwiGLU).
    biased : bool
        Matrices and norms have biases.
    tied : bool
        The head is the token embedding.
    learned_positions : bool
        Positions are a table; else they are rotations, which this analysis leaves out.
    source : str
    """

    name: str
    vocab_size: int
    n_positions: int
    n_embd: int
    n_layer: int
    n_head: int
    n_inner: int
    n_kv_head: int
    gated: bool = False
    biased: bool = True
    tied: bool = True
    learned_positions: bool = True
    source: str = ""

    @classmethod
    def from_config(cls, config: GPT2Config, name: str) -> Shape:
        """Return the shape of a GPT-2."""
        return cls(
            name=name,
            vocab_size=config.vocab_size,
            n_positions=config.n_positions,
            n_embd=config.n_embd,
            n_layer=config.n_layer,
            n_head=config.n_head,
            n_inner=config.n_inner,
            n_kv_head=config.n_head,
            tied=config.tie_word_embeddings,
        )

    @property
    def head_size(self) -> int:
        """D = n_embd / n_head."""
        return self.n_embd // self.n_head

    @property
    def kv_width(self) -> int:
        """Numbers in one token's keys of one layer (and in its values)."""
        return self.n_kv_head * self.head_size

    def matrices(self) -> dict[str, tuple[int, int]]:
        """Return (inputs, outputs) of a layer's matrices, by name."""
        width = self.n_embd
        return {
            "attn.c_attn": (width, width + 2 * self.kv_width),
            "attn.c_proj": (width, width),
            "mlp.c_fc": (width, (2 if self.gated else 1) * self.n_inner),
            "mlp.c_proj": (self.n_inner, width),
        }

    @property
    def num_parameters(self) -> int:
        """Number of parameters."""
        norm = (2 if self.biased else 1) * self.n_embd
        layer = 2 * norm + sum(k * n + (n if self.biased else 0) for k, n in self.matrices().values())
        tables = self.vocab_size * self.n_embd * (1 if self.tied else 2)
        tables += self.n_positions * self.n_embd if self.learned_positions else 0
        return tables + self.n_layer * layer + norm


def _gpt2(name: str, n_layer: int, n_embd: int, n_head: int) -> Shape:
    source = "Radford et al. 2019, table 2, as published (head count from the released configs)"
    return Shape(
        name=name,
        vocab_size=50257,
        n_positions=1024,
        n_embd=n_embd,
        n_layer=n_layer,
        n_head=n_head,
        n_inner=4 * n_embd,
        n_kv_head=n_head,
        source=source,
    )


def _llama(
    name: str,
    vocab: int,
    context: int,
    n_embd: int,
    n_layer: int,
    heads: tuple[int, int],
    n_inner: int,
    source: str,
    *,
    tied: bool = False,
) -> Shape:
    return Shape(
        name=name,
        vocab_size=vocab,
        n_positions=context,
        n_embd=n_embd,
        n_layer=n_layer,
        n_head=heads[0],
        n_inner=n_inner,
        n_kv_head=heads[1],
        gated=True,
        biased=False,
        tied=tied,
        learned_positions=False,
        source=source,
    )


_LLAMA_2 = "Touvron et al. 2023, Llama 2, and the released configs"
_LLAMA_3 = "Llama Team 2024, The Llama 3 Herd of Models, table 3"
_LLAMA_3_2 = "Meta 2024, Llama 3.2, and the released config"

SHAPES: dict[str, Shape] = {
    shape.name: shape
    for shape in (
        _gpt2("distilgpt2", 6, 768, 12),
        _gpt2("gpt2", 12, 768, 12),
        _gpt2("gpt2-medium", 24, 1024, 16),
        _gpt2("gpt2-large", 36, 1280, 20),
        _gpt2("gpt2-xl", 48, 1600, 25),
        _llama("1b", 32000, 2048, 2048, 22, (32, 4), 5632, "Zhang et al. 2024, TinyLlama"),
        _llama("7b", 32000, 4096, 4096, 32, (32, 32), 11008, _LLAMA_2),
        _llama("13b", 32000, 4096, 5120, 40, (40, 40), 13824, _LLAMA_2),
        _llama("70b", 32000, 4096, 8192, 80, (64, 8), 28672, _LLAMA_2),
        _llama("llama3.2-1b", 128256, 131072, 2048, 16, (32, 8), 8192, _LLAMA_3_2, tied=True),
        _llama("llama3-8b", 128256, 8192, 4096, 32, (32, 8), 14336, _LLAMA_3),
        _llama("llama3-70b", 128256, 8192, 8192, 80, (64, 8), 28672, _LLAMA_3),
        _llama("llama3-405b", 128256, 8192, 16384, 126, (128, 8), 53248, _LLAMA_3),
    )
}
"""Known shapes by name."""


def get_shape(name: str) -> Shape:
    """Return the shape of that name.

    Raises
    ------
    OptionError
        If there is none.
    """
    if name not in SHAPES:
        hint = suggest(name, SHAPES, "Try --shape 70b")
        raise OptionError(f"shape is {quote(name)}; it must be one of {', '.join(SHAPES)}. {hint}")
    return SHAPES[name]


def to_config(shape: Shape) -> GPT2Config:
    """Return the config of a shape that minispec can run.

    Raises
    ------
    OptionError
        If it is no GPT-2.
    """
    if shape.gated or not shape.learned_positions or shape.n_kv_head != shape.n_head:
        raise OptionError(
            f"shape {shape.name} is no GPT-2, so it can be predicted and not measured here. "
            f"Try --machine h100 --shape {shape.name}, or --shape gpt2"
        )
    return GPT2Config(
        vocab_size=shape.vocab_size,
        n_positions=shape.n_positions,
        n_embd=shape.n_embd,
        n_layer=shape.n_layer,
        n_head=shape.n_head,
        n_inner=shape.n_inner,
        tie_word_embeddings=shape.tied,
    )
