"""The heads of ``minispec.engine.drafters.heads`` in PyTorch, and what each is asked for.

Parameters are named and shaped as the folders store them; the formulas stand in the drafters. All learn one thing: the
target's own distribution at the place that a row speaks of, ``-sum p log q`` over the words that the head knows. The
target is frozen, and read along a given text.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

import torch
from torch import Tensor, nn
from torch.nn import functional

from minispec.engine.drafters.heads import HeadConfig
from minispec.lab.training.model import GPT2, Block, Conv1D, Shape

#: Blocks drafted per row of text in a step of training; a medusa has as many rows a place.
ANCHORS = 24


@dataclass(frozen=True)
class Seen:
    """What a target says along rows of text.

    Attributes
    ----------
    tokens : Tensor of shape (B, T)
    embedded : Tensor of shape (B, T, C)
        Their embeddings.
    states : list of Tensor of shape (B, T, C)
        The residual stream after each layer, as many as there are layers.
    final : Tensor of shape (B, T, C)
        The last of them behind the final norm.
    probs : Tensor of shape (B, T, V)
        The distribution of the token after each.
    head : Tensor of shape (V, C)
        The target's output matrix.
    """

    tokens: Tensor
    embedded: Tensor
    states: list[Tensor]
    final: Tensor
    probs: Tensor
    head: Tensor


class Head(nn.Module):
    """What the three have in common."""

    sees_states = True
    """Whether it reads what the target's layers say; zeros otherwise, to tell what they add."""

    def __init__(self, config: HeadConfig) -> None:
        super().__init__()
        self.config = config
        self.register_buffer("words", torch.tensor(config.words, dtype=torch.int64), persistent=False)

    def begin_with(self, target: GPT2) -> None:
        """Begin with what the target's weights say already, if the kind can."""

    @abstractmethod
    def places(self, seen: Seen, generator: torch.Generator) -> list[tuple[Tensor, Tensor]]:
        """Return for each place of a draft the rows' logits over the words, and p over all tokens, (R, W) and (R, V).

        `generator` chooses rows where not all are taken.
        """

    @property
    def known(self) -> Tensor:
        """The tokens it drafts, (W,); empty for all."""
        return cast("Tensor", self.words)


def split_heads(block: Block, x: Tensor) -> Tensor:
    """Return queries, keys and values of rows (B, T, d), as (3, B, H, T, D)."""
    heads = block.attn.num_heads
    rows, length, width = x.shape
    result: Tensor = (
        block.attn.c_attn(block.ln_1(x)).view(rows, length, 3, heads, width // heads).permute(2, 0, 3, 1, 4)
    )
    return result


def finish_layer(block: Block, x: Tensor, mixed: Tensor) -> Tensor:
    """Return the residual stream after a layer, from what its heads attended to, (B, H, T, D)."""
    x = x + block.attn.c_proj(mixed.transpose(1, 2).reshape(x.shape))
    result: Tensor = x + block.mlp(block.ln_2(x))
    return result


class Medusa(Head):
    """See :mod:`minispec.engine.drafters.heads.medusa`."""

    def __init__(self, config: HeadConfig, width: int, num_words: int) -> None:
        super().__init__(config)
        self.guess = Conv1D(width, config.length * width, 0.002)

    def places(self, seen: Seen, generator: torch.Generator) -> list[tuple[Tensor, Tensor]]:
        """See :meth:`Head.places`; guess k at token j speaks of what follows token j + k."""
        length, count = self.config.length, seen.tokens.shape[1]
        chosen = torch.randint(count - length, (ANCHORS * length,), generator=generator)
        state = seen.final[:, chosen]  # (B, R, C)
        guesses = functional.gelu(self.guess(state), approximate="tanh").view(*state.shape[:2], length, -1)
        return [
            (functional.linear(state + guesses[:, :, k], seen.head).flatten(0, 1),
             seen.probs[:, chosen + k + 1].flatten(0, 1))
            for k in range(length)
        ]  # fmt: skip


class LayeredHead(Head):
    """A head with layers of its own."""

    def __init__(self, config: HeadConfig, width: int, num_words: int) -> None:
        super().__init__(config)
        shape = Shape(config.num_layers, config.width, config.num_heads, config.inner)
        self.norm = nn.LayerNorm(width * len(config.layers), eps=1e-5)
        self.fuse = Conv1D(width * len(config.layers), config.width, 0.02)
        self.token = Conv1D(width, config.width, 0.02)
        self.norm_state = nn.LayerNorm(config.width, eps=1e-5)
        self.state = Conv1D(config.width, config.width, 0.02)
        self.h = nn.ModuleList([Block(shape) for _ in range(config.num_layers)])
        self.ln_f = nn.LayerNorm(config.width, eps=1e-5)
        self.lm_head = nn.Linear(config.width, num_words, bias=False)
        nn.init.normal_(self.lm_head.weight, std=0.02)

    @property
    def blocks(self) -> Sequence[Block]:
        """Its own layers."""
        return cast("Sequence[Block]", self.h)

    @torch.no_grad()
    def begin_with(self, target: GPT2) -> None:
        """Begin with the target's own output matrix, cut to the head's width.

        Its rows for the head's words are E = U S V^T. The head scores with the first d columns of U sqrt(S), and reads
        tokens and the highest state through those of V sqrt(S): so what it says of a state that it has read is what
        the target says there, as near as d columns can say it.
        """
        rows = target.wte.weight[self.known] if len(self.known) else target.wte.weight
        left, sizes, right = torch.linalg.svd(rows, full_matrices=False)  # (W, K), (K,), (K, C)
        kept, roots = min(self.config.width, len(sizes)), sizes.sqrt()
        self.lm_head.weight[:, :kept] = (left * roots)[:, :kept]
        self.token.weight[:, :kept] = read = (right.T * roots)[:, :kept]
        self.fuse.weight[-len(read) :, :kept] = target.ln_f.weight[:, None] * read
        nn.init.eye_(self.state.weight)

    def fuse_states(self, seen: Seen) -> Tensor:
        """Return ``fuse(norm(features))`` of every token, (B, T, d)."""
        chosen = torch.cat([seen.states[layer - 1] for layer in self.config.layers], dim=-1)
        fused: Tensor = self.fuse(self.norm(chosen if self.sees_states else torch.zeros_like(chosen)))
        return fused

    def score(self, output: Tensor) -> Tensor:
        """Return logits over the words of rows of shape (..., d)."""
        return functional.linear(self.ln_f(output), self.lm_head.weight)


class Eagle(LayeredHead):
    """See :mod:`minispec.engine.drafters.heads.eagle`."""

    def places(self, seen: Seen, generator: torch.Generator) -> list[tuple[Tensor, Tensor]]:
        """See :meth:`Head.places`: a pass for each place, fed with the outputs of the pass before.

        Row j of pass s is the s-th token of a draft that began s - 1 rows before; it attends to the true rows up to
        there, and to one row of each later pass (EAGLE-3's training-time test).
        """
        states = self.fuse_states(seen)[:, :-1]
        tokens, wanted = self.token(seen.embedded[:, 1:]), seen.probs[:, 1:]  # row j: token j + 1, and what follows it
        passes: list[list[tuple[Tensor, Tensor]]] = [[] for _ in self.blocks]  # keys and values by layer and pass
        result = []
        for behind in range(self.config.length):
            x = tokens + self.state(self.norm_state(states))
            for block, kept in zip(self.blocks, passes, strict=True):
                query, key, value = split_heads(block, x)
                kept.append((key, value))
                x = finish_layer(block, x, attend_along_drafts(query, kept))
            result.append((self.score(x[:, behind:]).flatten(0, 1), wanted[:, behind:].flatten(0, 1)))
            states = torch.roll(x, 1, dims=1)
        return result


def attend_along_drafts(query: Tensor, kept: list[tuple[Tensor, Tensor]]) -> Tensor:
    """Attend from row j of the last pass to rows 0 to j - s of the first, and to row j - s + r of each later pass r.

    Parameters
    ----------
    query : Tensor of shape (B, H, T, D)
        Of pass s, counted from 0.
    kept : list of (Tensor, Tensor), each of shape (B, H, T, D)
        Keys and values of passes 0 to s. Rows before row s of a pass stand for nothing.

    Returns
    -------
    Tensor of shape (B, H, T, D)
    """
    last, length, size = len(kept) - 1, query.shape[2], query.shape[3]
    keys, values = kept[0]
    hidden = torch.ones(length, length, dtype=torch.bool, device=query.device).triu(1 - last)
    hidden[:last, 0] = False  # rows that stand for nothing attend to something, so that no softmax is empty
    scores = [(query @ keys.transpose(-1, -2)).masked_fill(hidden, -math.inf)]
    later = [[torch.roll(part, last - r, dims=2) for part in kept[r]] for r in range(1, last + 1)]
    scores += [(query * key).sum(-1, keepdim=True) for key, _ in later]
    weights = (torch.cat(scores, dim=-1) / math.sqrt(size)).softmax(dim=-1)
    mixed = weights[..., :length] @ values
    for i, (_, value) in enumerate(later):
        mixed = mixed + weights[..., length + i : length + i + 1] * value
    return mixed


class BlockHead(LayeredHead):
    """See :mod:`minispec.engine.drafters.heads.block`."""

    def __init__(self, config: HeadConfig, width: int, num_words: int) -> None:
        super().__init__(config, width, num_words)
        self.place = nn.Embedding(config.length, config.width)
        nn.init.normal_(self.place.weight, std=0.02)
        self.previous = Conv1D(width, config.width, 0.0)

    def places(self, seen: Seen, generator: torch.Generator) -> list[tuple[Tensor, Tensor]]:
        """See :meth:`Head.places`: a few blocks in each row of text, at pending tokens chosen anew for each batch.

        The bias of a place reads the text's own token before it, as a draft does whose tokens have all been accepted.
        """
        length, count = self.config.length, seen.tokens.shape[1]
        anchors = torch.randint(1, count - length + 1, (ANCHORS,), generator=generator)  # places of pending tokens
        states = self.fuse_states(seen)
        begun = self.token(seen.embedded[:, anchors]) + self.state(self.norm_state(states[:, anchors - 1]))  # (B, A, d)
        x = (begun[:, :, None] + self.place.weight).flatten(1, 2)  # (B, A * length, d)
        mine = torch.arange(ANCHORS).repeat_interleave(length)
        before = torch.arange(count) < anchors[mine, None]  # (A * length, T)
        mask = torch.cat([before, mine[:, None] == mine], dim=1)
        for block in self.blocks:
            _, text_keys, text_values = split_heads(block, states)
            query, keys, values = split_heads(block, x)
            mixed = functional.scaled_dot_product_attention(
                query, torch.cat([text_keys, keys], dim=2), torch.cat([text_values, values], dim=2), attn_mask=mask
            )
            x = finish_layer(block, x, mixed)
        outputs, result = self.ln_f(x).view(len(x), ANCHORS, length, -1), []
        for k in range(length):
            output = outputs[:, :, k]
            if k:
                output = output + self.previous(seen.embedded[:, anchors + k])
            logits = functional.linear(output, self.lm_head.weight)
            result.append((logits.flatten(0, 1), seen.probs[:, anchors + k].flatten(0, 1)))
        return result


HEADS: Mapping[str, Callable[[HeadConfig, int, int], Head]] = {"medusa": Medusa, "eagle": Eagle, "block": BlockHead}


def loss_of(places: list[tuple[Tensor, Tensor]], words: Tensor, fade: float) -> Tensor:
    """Return the mean over places of ``-sum p log q``, place k weighted by ``fade ** k``.

    A late place counts only where all before it were accepted.
    """
    total, weight = torch.zeros(()), 0.0
    for k, (logits, probs) in enumerate(places):
        wanted = probs[:, words] if len(words) else probs
        total = total - fade**k * (wanted * functional.log_softmax(logits.float(), dim=-1)).sum(-1).mean()
        weight += fade**k
    return total / weight


def acceptance_of(places: list[tuple[Tensor, Tensor]], words: Tensor) -> tuple[list[float], list[float]]:
    """Return the acceptance at each place, the mean over its rows, given that all before it are the text's.

    At temperature 0, whether both find the same token likeliest; at temperature 1, ``sum(min(p, q))``.
    """
    agreed, shared = [], []
    for logits, probs in places:
        drafted, best = functional.softmax(logits.float(), dim=-1), logits.argmax(-1)
        wanted = probs[:, words] if len(words) else probs
        agreed.append(float(((words[best] if len(words) else best) == probs.argmax(-1)).float().mean()))
        shared.append(float(torch.minimum(wanted, drafted).sum(-1).mean()))
    return agreed, shared
