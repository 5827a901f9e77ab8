"""GPT-2 in PyTorch, small enough to read; parameters are named and shaped as in Hugging Face's GPT2LMHeadModel.

The same forward trains (whole rows, random position offsets) and, for the report, continues text (with a cache).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from tokenizers import Tokenizer
from torch import Tensor, nn
from torch.nn import functional

#: Longest row whose attention is written out (see :func:`attend`).
PLAIN_ATTENTION = 512


@dataclass(frozen=True)
class Shape:
    """The numbers that fix a GPT-2's parameters.

    Attributes
    ----------
    num_layers, width, num_heads, inner : int
        Blocks, model width C, attention heads H, width of the feed-forward layer.
    context, vocab_size : int
        Positions and tokens.
    """

    num_layers: int
    width: int
    num_heads: int
    inner: int
    context: int = 1024
    vocab_size: int = 8192


class Past:
    """Keys and values of every layer, written into room that is made once: a new token copies none of the old ones.

    Parameters
    ----------
    length : int
        Positions there is room for.
    """

    def __init__(self, length: int) -> None:
        self._length = length
        self._rooms: list[Tensor] = []  # of each layer: keys and values, (2, B, H, length, D)
        self._filled: list[int] = []

    def extend(self, layer: int, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        """Write a layer's keys and values of new positions, (B, H, T, D); return those of all, (B, H, S, D)."""
        num_rows, num_heads, count, size = key.shape
        if layer == len(self._rooms):
            self._rooms.append(key.new_empty(2, num_rows, num_heads, self._length, size))
            self._filled.append(0)
        first, last = self._filled[layer], self._filled[layer] + count
        keys, values = self._rooms[layer]
        keys[:, :, first:last], values[:, :, first:last] = key, value
        self._filled[layer] = last
        return keys[:, :, :last], values[:, :, :last]


class Conv1D(nn.Module):
    """A linear layer whose weight is stored (in, out), as GPT-2 stores it."""

    def __init__(self, num_in: int, num_out: int, std: float) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(num_in, num_out).normal_(std=std))
        self.bias = nn.Parameter(torch.zeros(num_out))

    def forward(self, x: Tensor) -> Tensor:
        """Return ``x @ weight + bias``."""
        return functional.linear(x, self.weight.t(), self.bias)


def attend(query: Tensor, key: Tensor, value: Tensor, causal: bool) -> Tensor:
    """Return ``softmax(q k^T / sqrt(D)) v``, every position seeing itself and what came before.

    Written out for rows of up to ``PLAIN_ATTENTION`` positions: compiled, that takes a third of the time of PyTorch's
    own CPU kernel, which wins on longer rows because it never holds all scores at once.

    Parameters
    ----------
    query : Tensor of shape (B, H, T, D)
    key, value : Tensor of shape (B, H, S, D)
    causal : bool
        Whether position t must not see positions after t (then S = T).

    Returns
    -------
    Tensor of shape (B, H, T, D)
    """
    length = query.shape[2]
    if length == 1 and query.dtype == torch.bfloat16:  # a matrix product of one row takes over twice as long
        weights = (key * query).sum(-1).float().div(math.sqrt(query.shape[-1])).softmax(-1)
        return (value * weights.to(value.dtype)[..., None]).sum(2, keepdim=True)
    if not causal or length > PLAIN_ATTENTION:
        return functional.scaled_dot_product_attention(query, key, value, is_causal=causal)
    scores = (query @ key.transpose(-1, -2)) / math.sqrt(query.shape[-1])
    future = torch.ones(length, length, dtype=torch.bool, device=query.device).triu(1)
    return scores.masked_fill(future, -math.inf).softmax(dim=-1, dtype=torch.float32).to(value.dtype) @ value


class Attention(nn.Module):
    """Causal self-attention."""

    def __init__(self, shape: Shape, std: float) -> None:
        super().__init__()
        self.num_heads = shape.num_heads
        self.c_attn = Conv1D(shape.width, 3 * shape.width, 0.02)
        self.c_proj = Conv1D(shape.width, shape.width, std)

    def forward(self, x: Tensor, past: Past | None, layer: int) -> Tensor:
        """Attend over `x`, and over what `past` holds of this layer (which is extended)."""
        num_rows, length, width = x.shape
        heads = self.c_attn(x).view(num_rows, length, 3, self.num_heads, width // self.num_heads)
        query, key, value = heads.permute(2, 0, 3, 1, 4)  # (B, T, 3, H, D) -> 3 x (B, H, T, D)
        if past is not None:
            key, value = past.extend(layer, key, value)
        mixed = attend(query, key, value, causal=length > 1)  # a single token may see everything
        result: Tensor = self.c_proj(mixed.transpose(1, 2).reshape(num_rows, length, width))
        return result


class FeedForward(nn.Module):
    """The position-wise layer of a block."""

    def __init__(self, shape: Shape, std: float) -> None:
        super().__init__()
        self.c_fc = Conv1D(shape.width, shape.inner, 0.02)
        self.c_proj = Conv1D(shape.inner, shape.width, std)

    def forward(self, x: Tensor) -> Tensor:
        """Return ``c_proj(gelu(c_fc(x)))``, with GPT-2's tanh approximation of gelu."""
        result: Tensor = self.c_proj(functional.gelu(self.c_fc(x), approximate="tanh"))
        return result


class Block(nn.Module):
    """Attention and feed-forward, each behind a layer norm and beside a residual path."""

    def __init__(self, shape: Shape, dropout: float = 0.0) -> None:
        super().__init__()
        self.dropout = nn.Dropout(dropout)
        std = 0.02 / math.sqrt(2 * shape.num_layers)
        self.ln_1 = nn.LayerNorm(shape.width, eps=1e-5)
        self.attn = Attention(shape, std)
        self.ln_2 = nn.LayerNorm(shape.width, eps=1e-5)
        self.mlp = FeedForward(shape, std)

    def forward(self, x: Tensor, past: Past | None, layer: int) -> Tensor:
        """Return the residual stream after this block."""
        x = x + self.dropout(self.attn(self.ln_1(x), past, layer))
        mixed: Tensor = x + self.dropout(self.mlp(self.ln_2(x)))
        return mixed


class GPT2(nn.Module):
    """The language model; the output head is the token embedding.

    Parameters
    ----------
    shape : Shape
    dropout : float
        In training, the share that is left out of the embeddings and of what a layer adds to the residual stream, as in
        GPT-2; attention's weights stay whole.
    """

    def __init__(self, shape: Shape, dropout: float = 0.0) -> None:
        super().__init__()
        self.shape = shape
        self.wte = nn.Embedding(shape.vocab_size, shape.width)
        self.wpe = nn.Embedding(shape.context, shape.width)
        self.dropout = nn.Dropout(dropout)
        self.h = nn.ModuleList([Block(shape, dropout) for _ in range(shape.num_layers)])
        self.ln_f = nn.LayerNorm(shape.width, eps=1e-5)
        nn.init.normal_(self.wte.weight, std=0.02)
        nn.init.normal_(self.wpe.weight, std=0.02)

    def forward(self, tokens: Tensor, offsets: Tensor | int = 0, past: Past | None = None) -> Tensor:
        """Score every position.

        Parameters
        ----------
        tokens : Tensor of shape (B, T), int64
            When `past` already holds something, T must be 1.
        offsets : Tensor of shape (B,) or int
            Position of the first token of each row.
        past : Past, optional
            Cache to continue from and to extend in place.

        Returns
        -------
        Tensor of shape (B, T, V)
            Logits.
        """
        return functional.linear(self.ln_f(self.states(tokens, offsets, past)[-1]), self.wte.weight)

    def states(self, tokens: Tensor, offsets: Tensor | int = 0, past: Past | None = None) -> list[Tensor]:
        """Return the residual stream after each layer, each (B, T, C); parameters are those of :meth:`forward`."""
        positions = torch.arange(tokens.shape[1], device=tokens.device)
        positions = positions + (offsets[:, None] if isinstance(offsets, Tensor) else offsets)  # (T,) or (B, T)
        x, states = self.dropout(self.wte(tokens) + self.wpe(positions)), []
        for layer, block in enumerate(self.h):
            x = block(x, past, layer)
            states.append(x)
        return states

    @property
    def num_parameters(self) -> int:
        """Parameters, the tied head counted once."""
        return sum(parameter.numel() for parameter in self.parameters())


@torch.no_grad()
def carry_over(model: GPT2, old: Tokenizer, new: Tokenizer) -> int:
    """Replace the token embeddings, which are the head too, by ones for another vocabulary of the same size.

    Parameters
    ----------
    model : GPT2
        Changed in place.
    old, new : Tokenizer
        Byte-level BPE tokenizers: what the model was trained with, and what it is to be trained with.

    Returns
    -------
    int
        Tokens that both vocabularies have.
    """
    known, before = old.get_vocab(), model.wte.weight.clone()
    shared = 0
    for text, number in new.get_vocab().items():
        if text in known:
            shared += 1
            model.wte.weight[number] = before[known[text]]
        else:
            model.wte.weight[number] = before[[piece.id for piece in old.model.tokenize(text)]].mean(0)
    return shared
