"""Acceptance as other engines report it, recognised by its content and brought to one form, with each engine's words.

What an "acceptance length" counts differs by engine (``docs/does-it-pay.md`` has the table). Here ``length`` is always
the tokens per verifying pass with the one that the target adds, so it is at least 1 and at most gamma + 1.
"""

from __future__ import annotations

import http.client
import itertools
import json
import math
import re
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NoReturn

from minispec.errors import InputError, explain, quote
from minispec.theory import alpha_from_counts, alpha_from_drafts, alpha_from_rate
from minispec.theory.intervals import Figure, share_of_texts

Json = Mapping[str, Any]

_MAX_BYTES = 64 * 2**20
_MOST = 10**9
_TIMEOUT_S = 10.0
_LONGEST = 63  # tokens of a draft
_MANY = 8  # requests from which on they count as the independent units
_EXPECTED = (
    "a metrics page with vllm:spec_decode_… or sglang:spec_accept_length, or JSON with metrics.speculative_decoding "
    "(vLLM, minispec), timings.draft_n (llama.cpp), meta_info.spec_verify_ct or internal_states (SGLang)"
)


class SourceError(InputError):
    """An acceptance report that cannot be read, is none, or contradicts itself."""


@dataclass(frozen=True, slots=True)
class Acceptance:
    """What an engine says about its drafts.

    Attributes
    ----------
    engine : str
        "vLLM", "llama.cpp", "SGLang" or "minispec".
    where : str
        The page or the answers that it was read from, in words.
    meaning : str
        What this engine's figure of acceptance counts.
    gamma : int or None
        The longest draft; None where the engine does not say.
    length : float or None
        Tokens per verifying pass, the target's own included.
    steps, drafted, accepted : int or None
        Verifying passes, drafted and accepted tokens; None where only a mean is reported.
    places : tuple of tuple of int
        For each place in a draft, how often it was accepted and how often it was judged; empty where unknown.
    requests : tuple of tuple of int
        Accepted and judged tokens of each request, where requests are reported one by one.
    odd : tuple of str
        What is strange about the report itself.
    """

    engine: str
    where: str
    meaning: str
    gamma: int | None
    length: float | None
    steps: int | None = None
    drafted: int | None = None
    accepted: int | None = None
    places: tuple[tuple[int, int], ...] = ()
    requests: tuple[tuple[int, int], ...] = ()
    odd: tuple[str, ...] = ()

    @property
    def by_place(self) -> list[Figure]:
        """Accepted / judged at each place of a draft, given that those before it stood, with Wilson's interval."""
        return [Figure(*alpha_from_counts(a, n)) if n else Figure(None) for a, n in self.places]

    @property
    def alpha(self) -> Figure:
        """Accepted / judged over all places; where only accepted / drafted or a mean is known, what that means.

        From eight requests on they are the independent units, else the tokens are.
        """
        judged = [each for each in self.requests if each[1]]
        if len(judged) >= _MANY:
            return share_of_texts([a for a, _ in judged], [n for _, n in judged])
        if self.places and sum(n for _, n in self.places):
            return Figure(*alpha_from_counts(sum(a for a, _ in self.places), sum(n for _, n in self.places)))
        if self.gamma is None:
            return Figure(None)
        if self.drafted and self.accepted is not None:
            return Figure(*alpha_from_drafts(self.accepted, self.drafted, self.gamma))
        if self.length is not None:
            return Figure(alpha_from_rate(min(1.0, max(0.0, (self.length - 1.0) / self.gamma)), self.gamma))
        return Figure(None)


def read_acceptance(source: str, gamma: int | None = None, since: str | None = None) -> Acceptance:
    """Read what an engine reports of its drafts.

    Parameters
    ----------
    source : str
        An address (``http://…``; without a path, ``/metrics`` is asked for) or a saved file.
    gamma : int, optional
        Tokens drafted per step, for reports that do not say.
    since : str, optional
        An earlier reading of the same metrics page, which is subtracted.

    Raises
    ------
    SourceError
        If it cannot be read, is no such report, mixes servers, or its counts cannot be.
    """
    text = _fetch(source)
    earlier = None if since is None else _fetch(since)
    return parse_acceptance(text, quote(source), gamma, earlier)


def parse_acceptance(text: str, where: str, gamma: int | None = None, earlier: str | None = None) -> Acceptance:
    r"""Return what a report's text says; see :func:`read_acceptance`.

    Parameters
    ----------
    text, where : str
        ``where`` is what messages call the source.
    gamma : int, optional
    earlier : str, optional
        The text of an earlier page.

    Examples
    --------
    >>> page = "vllm:spec_decode_num_drafts_total 100\nvllm:spec_decode_num_draft_tokens_total 300\n"
    >>> page += "vllm:spec_decode_num_accepted_tokens_total 156\n"
    >>> found = parse_acceptance(page, "a page")
    >>> found.engine, found.gamma, found.length
    ('vLLM', 3, 2.56)
    """
    body = text.removeprefix("\N{BYTE ORDER MARK}").strip()
    if body[:1] in ("{", "[") or body.startswith("data:"):
        if earlier is not None:
            _refuse(f"{where} has finished answers, which count from their own beginning. Leave --since out")
        return _with_gamma(_from_documents(_documents(body, where), where, gamma), gamma)
    series = _series(body, where)
    if earlier is not None:
        series = _grown(series, _series(earlier, "the earlier page"), where)
    return _with_gamma(_from_series(series, where, gamma), gamma)


def _refuse(message: str) -> NoReturn:
    raise SourceError(message)


def _with_gamma(found: Acceptance, gamma: int | None) -> Acceptance:
    """Take the reader's draft length where the report has none, and refuse one that contradicts it."""
    if gamma is None or found.gamma == gamma:
        return found
    if found.gamma is not None:
        _refuse(f"gamma is {gamma}, and {found.where} has drafts of up to {found.gamma} tokens. Leave --gamma out")
    if found.length is not None and found.length > gamma + 1:
        _refuse(
            f"gamma is {gamma}, and {found.where} has {found.length:.2f} tokens per step, which is more than {gamma} "
            "drafts and the target's own. Give the draft length that the server ran with"
        )
    return replace(found, gamma=gamma)


def _fetch(source: str) -> str:
    if source.startswith(("http://", "https://")):
        address = source.rstrip("/")
        if address.count("/") == 2:
            address += "/metrics"
        try:
            with urllib.request.urlopen(address, timeout=_TIMEOUT_S) as answer:  # an address of the reader's own
                content = answer.read(_MAX_BYTES + 1)
                missing = getattr(answer, "length", None)  # read(n) of a cut answer returns less, without an error
                if missing and len(content) <= _MAX_BYTES:
                    raise http.client.IncompleteRead(content, missing)
        except (urllib.error.URLError, http.client.HTTPException, OSError, ValueError) as error:
            _refuse(f"{quote(address)} does not answer ({explain(error)}). Save its page and name the file")
    else:
        try:
            with Path(source).open("rb") as file:
                content = file.read(_MAX_BYTES + 1)
        except (OSError, ValueError) as error:
            told = getattr(error, "strerror", None) or explain(error)
            _refuse(f"{quote(source)} cannot be read ({told}). Name a saved page, or an address like http://HOST:8000")
    if len(content) > _MAX_BYTES:
        _refuse(f"{quote(source)} is larger than {_MAX_BYTES // 2**20} MiB. Save a part of it and name that file")
    try:
        return bytes(content).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        _refuse(f"{quote(source)} is not UTF-8 at byte {error.start}. It must be {_EXPECTED}")


# Metrics pages

_LINE = re.compile(r"(?P<name>[A-Za-z_:][\w:]*)(?:\{(?P<labels>.*)\})?\s+(?P<value>\S+)(?:\s+-?\d+)?")
_LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')
_MEANING = "minispec counts as vLLM does; its τ is tokens per pass, steps that drafted nothing included"
_COUNTERS = re.compile(r"(vllm|minispec):spec_decode_num_(drafts|draft_tokens|accepted_tokens|accepted_tokens_per_pos)")
_GAUGES = re.compile(r"sglang:spec_(accept_length|accept_rate|num_steps|num_draft_tokens)")

Series = dict[tuple[str, tuple[tuple[str, str], ...]], float]
"""Name and labels to the value."""


def _series(body: str, where: str) -> Series:
    """Return the figures of acceptance on a page of Prometheus."""
    found: Series = {}
    for line in body.split("\n"):
        seen = _LINE.fullmatch(line.strip())
        if seen is None:
            continue
        name = seen["name"].removesuffix("_total")
        if _COUNTERS.fullmatch(name) is None and _GAUGES.fullmatch(name) is None:
            continue
        key = name, tuple(sorted(_LABEL.findall(seen["labels"] or "")))
        try:
            value = float(seen["value"])
        except ValueError:
            _refuse(f"{where} has {name} at {quote(seen['value'])}; it must be a number. Save the page again")
        if not math.isfinite(value) or value < 0:
            _refuse(f"{where} has {name} at {value:g}; it must be a number from 0 on. Save the page again")
        if key in found:
            _refuse(f"{where} has {name} twice with the same labels: pages of two servers? Give one server's page")
        found[key] = value
    if not found:
        _refuse(f"{where} has no figures of speculative decoding; it must be {_EXPECTED}")
    return found


def _grown(series: Series, earlier: Series, where: str) -> Series:
    """Return by how much counters have grown."""
    if gone := [key for key in earlier if key not in series]:
        _refuse(f"{where} lacks {gone[0][0]}, which the earlier page has: another server? Give two pages of one server")
    grown = {}
    for key, value in series.items():
        if _GAUGES.fullmatch(key[0]):
            _refuse(f"{where} has {key[0]}, which is a mean of its own and does not grow. Leave --since out")
        grown[key] = value - earlier.get(key, 0.0)
        if grown[key] < 0:
            _refuse(
                f"{where} has {key[0]} at {value:g}, and the earlier page had {earlier[key]:g}: the server began anew "
                "between them, or the pages are swapped. Save two pages of one run, the earlier one with --since"
            )
    return grown


def _from_series(series: Series, where: str, gamma: int | None) -> Acceptance:
    engines = sorted({name.partition(":")[0] for name, _ in series})
    models = sorted({dict(labels).get("model_name", "") for _, labels in series})
    if len(engines) > 1 or len(models) > 1:
        both = " and ".join(quote(each) for each in (engines if len(engines) > 1 else models))
        _refuse(f"{where} has figures of {both} together, and their means mean nothing. Give one server's page")
    if engines == ["sglang"]:
        return _from_gauges(series, where)
    sums: dict[str, float] = {}
    by_place: dict[int, float] = {}
    for (name, labels), value in series.items():
        kind = name.partition("num_")[2]
        if kind != "accepted_tokens_per_pos":
            sums[kind] = sums.get(kind, 0.0) + value
            continue
        place = dict(labels).get("position", "")
        if not place.isdecimal() or len(place) > 3:
            _refuse(f"{where} has {name} with position {quote(place)}; it must be 0, 1, … Save the whole page")
        by_place[int(place)] = by_place.get(int(place), 0.0) + value
    missing = [f"spec_decode_num_{kind}" for kind in ("drafts", "draft_tokens", "accepted_tokens") if kind not in sums]
    if missing:
        _refuse(f"{where} lacks {' and '.join(missing)}; a page has all three. Save the whole page")
    if sorted(by_place) != list(range(len(by_place))):
        _refuse(f"{where} has accepted tokens at positions {sorted(by_place)}; from 0 on none may lack. Save all of it")
    steps, drafted, accepted = (
        _whole(sums[kind], kind, where) for kind in ("drafts", "draft_tokens", "accepted_tokens")
    )
    per_place = [_whole(by_place[i], "accepted_tokens_per_pos", where) for i in sorted(by_place)]
    engine = {"vllm": "vLLM", "minispec": "minispec"}[engines[0]]
    meaning = (
        "vLLM's mean acceptance length is 1 + accepted / drafts: with the bonus token; its acceptance rate is accepted "
        "/ drafted. Its rate by position divides by all drafts; the table above divides by those judged there"
        if engine == "vLLM"
        else _MEANING
    )
    return _of_counters(engine, where, meaning, (steps, drafted, accepted), per_place, gamma)


def _of_counters(
    engine: str,
    where: str,
    meaning: str,
    counts: tuple[int, int, int],
    per_place: Sequence[int],
    gamma: int | None,
) -> Acceptance:
    """Return what sums over all requests say; drafts of unequal lengths are told, as places are then lower bounds."""
    steps, drafted, accepted = counts
    _check_counts(where, steps, drafted, accepted)
    odd = []
    if per_place:
        if abs(sum(per_place) - accepted) > accepted // 100:
            _refuse(
                f"{where} has {accepted} accepted tokens, and by position {sum(per_place)}: a page that does not add "
                "up. Save one server's page in one piece"
            )
        if rising := [i for i in range(1, len(per_place)) if per_place[i] > per_place[i - 1]]:
            i = rising[0]
            _refuse(
                f"{where} has {per_place[i]} tokens accepted at position {i} and {per_place[i - 1]} at {i - 1}; a "
                "place stands only if the one before it does. Give one server's page"
            )
        if per_place[0] > steps:
            _refuse(f"{where} has {per_place[0]} first tokens accepted in {steps} drafts. Give one server's page")
        longest = len(per_place)
    else:
        longest = gamma or math.ceil(drafted / steps)
    if drafted > longest * steps:
        _refuse(f"{where} has {drafted} tokens in {steps} drafts, more than {longest} each. Give one server's page")
    if drafted < longest * steps:
        odd.append(
            f"drafts were {drafted / steps:.2f} tokens long on average and up to {longest}: α at the later places is a "
            "lower bound, because the page does not say which drafts reached them"
        )
    judged = [steps, *per_place[:-1]] if per_place else []
    return Acceptance(
        engine=engine,
        where=where,
        meaning=meaning,
        gamma=longest,
        length=1.0 + accepted / steps,
        steps=steps,
        drafted=drafted,
        accepted=accepted,
        places=tuple(zip(per_place, judged, strict=True)),
        odd=tuple(odd),
    )


def _check_counts(where: str, steps: int, drafted: int, accepted: int) -> None:
    if not steps or not drafted:
        _refuse(f"{where} has {drafted} drafted tokens in {steps} drafts: nothing to judge. Send requests first")
    if accepted > drafted:  # a draft without tokens can be: constraints take them away before they are judged
        _refuse(
            f"{where} has {steps} drafts of {drafted} tokens, {accepted} of them accepted; what is accepted was "
            "drafted. Give one server's page"
        )


def _from_gauges(series: Series, where: str) -> Acceptance:
    figures: dict[str, list[float]] = {}
    for (name, _), value in series.items():
        figures.setdefault(name.removeprefix("sglang:spec_"), []).append(value)
    if "accept_length" not in figures:
        _refuse(f"{where} lacks sglang:spec_accept_length. Save the whole page")
    known = {name: _mean(busy) for name, values in figures.items() if (busy := [each for each in values if each])}
    if "accept_length" not in known:
        _refuse(f"{where} has sglang:spec_accept_length at 0: no drafts lately. Send requests, and save it meanwhile")
    length, rate = known["accept_length"], known.get("accept_rate", 0.0)
    if not rate <= 1.0:
        _refuse(f"{where} has sglang:spec_accept_rate at {rate:g}; it is a share of the drafted tokens, at most 1")
    odd = ["its page has means of the last moments and no counts: no intervals"]
    longest = known.get("num_draft_tokens", 0.0) - 1.0  # SGLang counts the token that the target adds
    if 0.0 < known.get("num_steps", longest) < longest:
        longest = known["num_steps"]
        odd.append(_TREES)
    if longest < 1.0:  # releases that do not tell it
        longest = min((length - 1.0) / rate, float(_MOST)) if rate else 0.0
    return _of_mean(where, length, round(longest) or None, tuple(odd))


_TREES = "it drafts trees: α is that of a level, and c and v are those of whole levels"


def _of_mean(where: str, length: float, gamma: int | None, odd: tuple[str, ...]) -> Acceptance:
    if length < 1.0:
        _refuse(f"{where} has an acceptance length of {length:g}; with the target's own token it is at least 1")
    if gamma is not None and length > gamma + 1:
        _refuse(
            f"{where} has {length:.2f} tokens per step of up to {gamma} drafts and one more. Give one server's page"
        )
    meaning = "SGLang's acceptance length is accepted tokens with the bonus token / verifying passes"
    return Acceptance("SGLang", where, meaning, gamma or None, length, odd=odd)


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)


# Answers and logs of answers


def _documents(body: str, where: str) -> list[Json]:
    try:
        whole = json.loads(body)
    except RecursionError:
        _refuse(f"{where} is JSON nested too deeply; it must be {_EXPECTED}")
    except ValueError:
        return list(_lines(body, where))
    found = whole if isinstance(whole, list) else [whole]
    return [each for each in found if isinstance(each, dict)]


def _lines(body: str, where: str) -> Iterator[Json]:
    """Yield the objects of JSON lines, or of a saved stream of server-sent events."""
    for number, line in enumerate(body.split("\n"), 1):
        content = line.strip().removeprefix("data:").strip()
        if not content or content == "[DONE]" or content.startswith((":", "event:")):
            continue
        try:
            found = json.loads(content)
        except (ValueError, RecursionError) as error:
            _refuse(f"{where}, line {number} is not JSON ({explain(error)}). Write one answer per line")
        if isinstance(found, dict):
            yield found


def _from_documents(documents: Sequence[Json], where: str, gamma: int | None) -> Acceptance:
    # minispec's answers hold vLLM's object; its streams tell it in a chunk without choices.
    ours = {str(each.get("id")) for each in documents if _is_of_minispec(each)}
    found = [
        ("minispec" if kind == "vLLM" and str(each.get("id")) in ours else kind, content)
        for each in documents
        for kind, content in _recognise(each)
    ]
    kinds = sorted({kind for kind, _ in found})
    if not kinds:
        _refuse(f"{where} has no figures of speculative decoding; it must be {_EXPECTED}")
    if len(kinds) > 1:
        _refuse(f"{where} has answers of {' and '.join(kinds)} together. Give one server's answers")
    read = _READERS[kinds[0]]
    return read([content for _, content in found], where, gamma)


def _is_of_minispec(document: Json) -> bool:
    choices = document.get("choices")
    return isinstance(choices, list) and any(isinstance(each, dict) and "minispec" in each for each in choices)


def _recognise(document: Json) -> Iterator[tuple[str, Json]]:
    """Yield what a document has to say, under the name of who says it."""
    metrics = document.get("metrics")
    nested = metrics.get("speculative_decoding") if isinstance(metrics, dict) else None
    for candidate in (nested, document.get("speculative_decoding"), document):
        if isinstance(candidate, dict) and "num_spec_steps" in candidate:
            yield "vLLM", candidate
            return
    for candidate in (document.get("timings"), document):
        if isinstance(candidate, dict) and "draft_n" in candidate:
            yield "llama.cpp", candidate
            return
    for candidate in (document.get("meta_info"), document):
        if isinstance(candidate, dict) and "spec_verify_ct" in candidate:
            yield "SGLang", candidate
            return
    decode = document.get("decode")
    inner = decode[0] if isinstance(decode, list) and decode and isinstance(decode[0], dict) else document
    if isinstance(inner.get("internal_states"), list):
        yield "SGLang's server info", inner


def _from_vllm(answers: Sequence[Json], where: str, gamma: int | None) -> Acceptance:
    accepted_at, judged_at = [0] * (_LONGEST + 1), [0] * (_LONGEST + 1)
    requests, longest, totals = [], 0, [0, 0, 0]
    for number, each in enumerate(answers, 1):
        here = f"{where}, answer {number}"
        steps, drafted, accepted = (
            _count(each, name, here) for name in ("num_spec_steps", "num_draft_tokens", "num_accepted_draft_tokens")
        )
        rows = _histograms(each, here, steps, drafted, accepted)
        totals = [total + more for total, more in zip(totals, (steps, drafted, accepted), strict=True)]
        sums = [0, 0]
        for length, row in rows.items():
            longest = max(longest, length)
            for place in range(length):
                stood, reached = sum(row[place + 1 :]), sum(row[place:])
                accepted_at[place] += stood
                judged_at[place] += reached
                sums = [sums[0] + stood, sums[1] + reached]
        requests.append((sums[0], sums[1]))
    longest = max(longest, 1)
    steps, drafted, accepted = totals
    if not steps or not drafted:
        _refuse(f"{where} has {drafted} drafted tokens in {steps} steps: nothing to judge. Send longer requests")
    return Acceptance(
        engine="vLLM",
        where=where,
        meaning="vLLM's mean_acceptance_length is 1 + accepted / steps: with the bonus token; its histogram is without",
        gamma=longest,
        length=1.0 + accepted / steps,
        steps=steps,
        drafted=drafted,
        accepted=accepted,
        places=tuple(zip(accepted_at, judged_at, strict=True))[:longest],
        requests=tuple(requests),
    )


def _from_minispec(answers: Sequence[Json], where: str, gamma: int | None) -> Acceptance:
    return replace(_from_vllm(answers, where, gamma), engine="minispec", meaning=_MEANING)


def _histograms(each: Json, here: str, steps: int, drafted: int, accepted: int) -> dict[int, list[int]]:
    """Return for each draft length how many steps accepted 0, 1, … of it; refuse what does not add up."""
    plain = _list_of_counts(each.get("acceptance_histogram"), "acceptance_histogram", here)
    given = each.get("acceptance_histogram_by_draft_length")
    if given is None and each.get("per_step_drafted") is not None:
        rows = _tally_steps(each, here)
    elif given is None:
        longest = len(plain) - 1
        if drafted != steps * longest:
            _refuse(
                f"{here} has no acceptance_histogram_by_draft_length, and its {steps} drafts of {drafted} tokens are "
                f"not all {longest} long: what was judged is not known. Start vLLM with "
                "--per-request-spec-decode-metrics detailed, or give its /metrics page"
            )
        rows = {longest: plain}
    else:
        if not isinstance(given, dict) or not all(key.isdecimal() and len(key) < 3 for key in given):
            _refuse(f"{here} has acceptance_histogram_by_draft_length {quote(given)}; it must map lengths to counts")
        rows = {int(key): _list_of_counts(row, f"row {key} of the histogram", here) for key, row in given.items()}
        if wrong := [key for key, row in rows.items() if len(row) != key + 1]:
            _refuse(
                f"{here} has a histogram row {wrong[0]} of {len(rows[wrong[0]])} counts; it must have {wrong[0] + 1}"
            )
    summed = [sum(column) for column in itertools.zip_longest(*rows.values(), fillvalue=0)]
    found = sum(summed), sum(k * sum(row) for k, row in rows.items()), sum(j * n for j, n in enumerate(summed))
    padded = summed + [0] * (len(plain) - len(summed))
    if found != (steps, drafted, accepted) or (plain and padded != plain):
        _refuse(
            f"{here} has {steps} steps of {drafted} drafted and {accepted} accepted tokens, and its histograms add up "
            f"to {found[0]}, {found[1]} and {found[2]}; they must be the same. Save the answer again, whole"
        )
    return rows


def _tally_steps(each: Json, here: str) -> dict[int, list[int]]:
    """Return the histograms of an answer that lists its steps one by one."""
    rows: dict[int, list[int]] = {}
    drafted, accepted = (_list_of_counts(each.get(name) or [], name, here, range(_MOST)) for name in _PER_STEP)
    if len(drafted) != len(accepted) or any(a > d or d > _LONGEST for d, a in zip(drafted, accepted, strict=True)):
        _refuse(f"{here} has {' and '.join(_PER_STEP)} that do not fit together. Save the answer again, whole")
    for length, stood in zip(drafted, accepted, strict=True):
        rows.setdefault(length, [0] * (length + 1))[stood] += 1
    return rows


def _from_llama_cpp(answers: Sequence[Json], where: str, gamma: int | None) -> Acceptance:
    drafted = sum(_count(each, "draft_n", where) for each in answers)
    accepted = sum(_count(each, "draft_n_accepted", where) for each in answers)
    emitted = sum(_count(each, "predicted_n", where) for each in answers) if "predicted_n" in answers[0] else None
    _check_counts(where, min(1, drafted), drafted, accepted)
    steps = None if emitted is None else emitted - len(answers) - accepted
    if steps is not None and steps < 1:
        _refuse(
            f"{where} has {accepted} accepted tokens of {emitted} written in {len(answers)} answers; every pass "
            "adds one that was not drafted. Give whole answers"
        )
    longest, odd = gamma, ["its answers do not say which place of a draft failed: one α for all places"]
    if longest is None and steps is not None:
        longest = max(1, round(drafted / steps))
        odd.append(
            f"its answers do not say how long drafts were; {drafted / steps:.1f} per pass on average, taken for "
            f"{longest}. If some passes had no draft, give the length with --gamma"
        )
    return Acceptance(
        engine="llama.cpp",
        where=where,
        meaning="llama.cpp's draft acceptance is accepted / drafted tokens, which is not α; tokens per pass are "
        "worked out here: predicted_n less the prompt's own token, over predicted_n - 1 - draft_n_accepted",
        gamma=longest,
        length=None if steps is None else 1.0 + accepted / steps,
        steps=steps,
        drafted=drafted,
        accepted=accepted,
        odd=tuple(odd),
    )


_PER_STEP = "per_step_drafted", "per_step_accepted"
_CORRECT = "spec_num_correct_drafts", "spec_accepted_drafts", "spec_accept_token_num"
_PROPOSED = "spec_num_proposed_drafts", "spec_proposed_drafts", "spec_draft_token_num"
_HISTOGRAM = "spec_correct_drafts_histogram", "spec_accept_histogram"


def _from_sglang(answers: Sequence[Json], where: str, gamma: int | None) -> Acceptance:
    """Sum up answers; their names changed over the releases, and all of them are known.

    A step that drafted d tokens and accepted a of them judged min(a + 1, d). The answers do not say the d of each step,
    so the longest draft of all answers stands for it. That is exact if all drafts have one length, else an upper bound.
    """
    per_place, counted, totals = [0] * (_LONGEST + 1), [], [0, 0, 0]
    for number, each in enumerate(answers, 1):
        here = f"{where}, answer {number}"
        steps = _count(each, "spec_verify_ct", here)
        correct, proposed = (_first(each, names, here) for names in (_CORRECT, _PROPOSED))
        totals = [total + more for total, more in zip(totals, (steps, proposed, correct), strict=True)]
        named = next((name for name in _HISTOGRAM if each.get(name) is not None), None)
        if named is None or not steps:
            continue
        row = _list_of_counts(each[named], named, here)
        found = sum(row), sum(j * n for j, n in enumerate(row))
        if found != (steps, correct):
            _refuse(
                f"{here} has {steps} verifications and {correct} accepted tokens, and its histogram adds up to "
                f"{found[0]} and {found[1]}; they must be the same. Save the answer again, whole"
            )
        stood = [sum(row[place + 1 :]) for place in range(len(row) - 1)]
        per_place = [total + more for total, more in itertools.zip_longest(per_place, stood, fillvalue=0)]
        counted.append((steps, correct, row))
    steps, drafted, accepted = totals
    # The mean is below the longest if lengths differ. A histogram ends at the most accepted tokens, or has zeros there.
    longest = max(math.ceil(drafted / steps) if steps else 1, sum(map(bool, per_place)))
    places = per_place[:longest] if len(counted) == len(answers) else []
    requests = tuple((correct, steps + correct - sum(row[longest:])) for steps, correct, row in counted)
    meaning = (
        "SGLang's spec_accept_length is completion tokens / verifications, so with the bonus token and the prompt's "
        "own first token; its spec_accept_rate is accepted / drafted"
    )
    found_all = _of_counters("SGLang", where, meaning, (steps, drafted, accepted), places, gamma)
    return replace(found_all, requests=requests if places else ())


def _from_server_info(pages: Sequence[Json], where: str, gamma: int | None) -> Acceptance:
    states = [state for page in pages for state in page["internal_states"] if isinstance(state, dict)]
    lengths = [state["avg_spec_accept_length"] for state in states if state.get("avg_spec_accept_length") is not None]
    if not lengths or not all(isinstance(each, int | float) and abs(each) <= _MOST for each in lengths):
        _refuse(f"{where} has no avg_spec_accept_length in its internal_states: no drafts yet, or none asked for")
    page = pages[0]
    wide = page.get("speculative_eagle_topk")
    odd = ["it is a mean since the server began, with no counts: no intervals"]
    is_tree = isinstance(wide, int) and wide > 1
    name = "speculative_num_steps" if is_tree else "speculative_num_draft_tokens"
    longest = None if page.get(name) is None else _count(page, name, where)
    if is_tree:
        odd.append(_TREES)
    elif longest is not None:
        longest -= 1  # SGLang counts the token that the target adds
    return _of_mean(where, _mean([float(each) for each in lengths]), longest, tuple(odd))


_READERS: dict[str, Callable[[Sequence[Json], str, int | None], Acceptance]] = {
    "vLLM": _from_vllm,
    "minispec": _from_minispec,
    "llama.cpp": _from_llama_cpp,
    "SGLang": _from_sglang,
    "SGLang's server info": _from_server_info,
}


def _first(each: Json, names: Sequence[str], here: str) -> int:
    """Return the count under the first of these names that is there."""
    return _count(each, next((name for name in names if name in each), names[0]), here)


def _count(each: Json, name: str, here: str) -> int:
    value = each.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float):
        _refuse(f"{here} has {name} {quote(value)}; it must be a whole number from 0 on. Save the answer again, whole")
    return _whole(value, name, here)


def _whole(value: float, name: str, here: str) -> int:
    if not 0 <= value <= _MOST or value != int(value):
        _refuse(
            f"{here} has {name} at {quote(value)}; it must be a whole number from 0 to {_MOST:g}. Save it again, whole"
        )
    return int(value)


def _list_of_counts(value: Any, name: str, here: str, lengths: range = range(1, _LONGEST + 2)) -> list[int]:
    if not isinstance(value, list) or len(value) not in lengths:
        _refuse(f"{here} has {name} {quote(value)}; it must be a list of counts. Save the answer again, whole")
    return [_count({name: each}, name, here) for each in value]
