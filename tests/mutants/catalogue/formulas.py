"""Wrong formulas: of tokens, times, estimates and counts."""

from __future__ import annotations

from minispec.lab.roofline import counts
from minispec.lab.roofline.shapes import Shape
from minispec.theory import (
    acceptance,
    batch,
    breakeven,
    candidates,
    draft_length,
    estimate,
    response,
    tokens,
    trees,
    walltime,
)

from .tools import change

change(
    16, "tokens per step", "the last draft brings nothing", "tau ends with alpha**(gamma - 1).",
    acceptance, "tau", "for _ in range(gamma):", "for _ in range(gamma - 1):",
)  # fmt: skip
change(
    16, "tokens per step", "the bonus is among the drafts", "Accepted by gamma + 1.",
    acceptance, "draft_acceptance_rate", "(tau(alpha, gamma) - 1.0) / gamma", "(tau(alpha, gamma) - 1.0) / (gamma + 1)",
)  # fmt: skip
change(
    16, "tokens per step", "a draft verifies itself", "Operations of a step are those of gamma rows.",
    walltime, "operations_factor", "ratio + gamma + 1) / tau", "ratio + gamma) / tau",
)  # fmt: skip
change(
    16, "tokens per step", "the last length is cut off", "The law of a full acceptance is that of its last rejection.",
    tokens, "tokens_law_by_position", "*first_rejections, reached[-1]", "*first_rejections[:-1], reached[-2], 0.0",
)  # fmt: skip
change(
    16, "tokens per step", "survivals are acceptances", "s_k / s_{k-1} is left undivided.",
    tokens, "conditional_acceptances", "after / before if before else 0.0", "after",
)  # fmt: skip
change(
    16, "pools of steps", "steps without a rejection are not asked for",
    "(1 - alpha**2) / (1 - alpha), whatever survives.",
    tokens, "exact_tau", "1.0 - alpha * survival", "1.0 - alpha * alpha",
)  # fmt: skip
change(
    16, "pools of steps", "tokens weigh as steps", "The arithmetic mean of both kinds of weights.",
    tokens, "pooled_tau", 'if weights_are == "steps":', "if True:",
)  # fmt: skip
change(
    16, "wall times", "the pending token is verified for nothing", "v(gamma) in place of v(gamma + 1).",
    walltime, "step_cost", "verify_cost(gamma + 1)", "verify_cost(gamma)",
)  # fmt: skip
change(
    16, "wall times", "one more draft is drafted", "(gamma + 1) c.",
    walltime, "step_cost", "return gamma * cost_ratio", "return (gamma + 1) * cost_ratio",
)  # fmt: skip
change(
    16, "wall times", "drafting ahead adds up", "What is done at once takes the sum of both times.",
    walltime, "ahead_speedup", "max(step_cost(gamma, 0.0, verify_cost), (gamma + 1) * cost_ratio)",
    "step_cost(gamma, 0.0, verify_cost) + (gamma + 1) * cost_ratio",
)  # fmt: skip
change(
    16, "wall times", "a tie pays", "alpha = c counts as a gain.",
    breakeven, "can_pay", '_checks.probability("alpha", alpha) > ', '_checks.probability("alpha", alpha) >= ',
)  # fmt: skip
change(
    16, "wall times", "the rate to break even forgets the plain step", "tau is r gamma.",
    breakeven, "break_even_rate", "overhead) - 1.0) / gamma", "overhead)) / gamma",
)  # fmt: skip
change(
    16, "wall times", "the first length that pays is best", "Longer drafts are not tried once one has gained.",
    draft_length, "best_gamma_by_position", "if eta > best.speedup * (1.0 + TIE):", "if best.gamma == 0 and eta > 1.0:",
)  # fmt: skip
change(
    16, "wall times", "survivals are not multiplied", "Each draft adds its own acceptance to the tokens.",
    draft_length, "best_gamma_by_position", "tokens += reached", "tokens += a",
)  # fmt: skip
change(
    16, "short responses", "no step is whole", "The longest step is left out of the recursion.",
    response, "expected_steps", "min(n, len(step)))", "min(n, len(step) - 2))",
)  # fmt: skip
change(
    16, "short responses", "the last draft has full length", "Drafts are not cut to the room that is left.",
    response, "response_speedup", "g = min(gamma, left - 1)", "g = min(gamma, left)",
)  # fmt: skip
change(
    16, "short responses", "the last step overshoots by its mean", "E[N (N - 1)] without its half.",
    response, "expected_steps_asymptote", "/ (2.0 * mu**2)", "/ mu**2",
)  # fmt: skip
change(
    16, "several candidates", "one candidate is drawn", "The cut of a set is p(H) + 1 - q(H).",
    candidates, "optimal_acceptance", "np.minimum(1.0, of_q) ** count", "np.minimum(1.0, of_q)",
)  # fmt: skip
change(
    16, "several candidates", "candidates in the order of p", "Sets are grown from the least likely token.",
    candidates, "optimal_acceptance", "np.divide(p, q, out=np.full(p.shape, np.inf), where=q > 0.0)", "p",
)  # fmt: skip
change(
    16, "several candidates", "k-seq takes what one candidate gets", "sum min(p, q) in place of sum min(p, rho q).",
    candidates, "k_seq_acceptance", "rho * np.asarray(draft_probs)", "np.asarray(draft_probs)",
)  # fmt: skip
change(
    16, "several candidates", "chains share their fate", "Of b chains the chances are added up.",
    trees, "chains_tokens", "1.0 - (1.0 - alpha**i) ** b", "min(1.0, b * alpha**i)",
)  # fmt: skip
change(
    16, "estimates", "an interval of the mean", "Wald's interval under Wilson's name.",
    estimate, "_wilson", "evaluated + z * z / 4)", "evaluated)",
)  # fmt: skip
change(
    16, "estimates", "both tails at once", "Each end of the exact interval leaves out all that both should.",
    estimate, "_clopper_pearson", "0.5 * (1.0 - confidence)", "1.0 - confidence",
)  # fmt: skip
change(
    16, "estimates", "steps without a draft are steps", "They count among those that estimate the variance.",
    estimate, "alpha_from_overlaps", "for step in steps if step]", "for step in steps]",
)  # fmt: skip
change(
    16, "estimates", "a mean of means", "Each step weighs the same, however many positions it has.",
    estimate, "alpha_from_overlaps", "value = math.fsum(total for total, _ in sums) / evaluated",
    "value = math.fsum(total / length for total, length in sums) / len(sums)",
)  # fmt: skip
change(
    16, "batches", "a weight is read once per operation", "The ridge forgets that a weight is multiplied and added.",
    batch, "ridge_tokens", "* size / 2", "* size",
)  # fmt: skip
change(
    16, "batches", "a batch of one is the unit", "v(m) is not divided by what a batch takes for one row each.",
    batch, "roofline_verify_cost", " / max(1.0, batch / ridge)", "",
)  # fmt: skip
change(
    16, "batches", "drafts are free in a batch", "The batch that breaks even forgets what drafting costs.",
    batch, "batch_break_even", "tau(alpha, gamma) - gamma * cost", "tau(alpha, gamma)",
)  # fmt: skip
change(
    16, "operations and bytes", "each token sees all", "Scores are counted as if none were masked.",
    counts, "count_forward", "rows * (rows + 1) // 2", "rows * rows",
)  # fmt: skip
change(
    16, "operations and bytes", "new keys are not read", "The cache is read as it was before the forward.",
    counts, "count_forward", "cached = batch * (context + rows)", "cached = batch * context",
)  # fmt: skip
change(
    16, "operations and bytes", "padding is work", "Operations are counted over the padded outputs.",
    counts, "count_linear", "rows * num_outputs * (2", "rows * -(-num_outputs // storage.panel) * storage.panel * (2",
)  # fmt: skip
change(
    16, "operations and bytes", "every row has logits", "The head is counted for all rows.",
    counts, "count_forward", "batch * (rows if num_logits is None else num_logits)", "batch * rows",
)  # fmt: skip
change(
    16, "operations and bytes", "int8 is a byte", "The scales of the channels are not read.",
    counts.Storage, "matrix_bytes", "weights + self.scale_bytes * num_outputs", "weights",
)  # fmt: skip
change(
    16, "operations and bytes", "heads keep their own keys", "Grouped queries are counted with as many keys as heads.",
    Shape, "kv_width", "self.n_kv_head * self.head_size", "self.n_embd",
)  # fmt: skip
change(
    16, "operations and bytes", "a sum counts its kinds", "Calls of parts are not added up.",
    counts.Part, "plus", "self.calls + other.calls", "max(self.calls, other.calls)",
)  # fmt: skip
