"""School sums that are right by construction: a seeded generator of one- and two-step word problems.

A problem is a template, names, things, and numbers from ranges small enough to learn. The answer works every step out::

    Question: Mia has 3 boxes with 4 pears in each. She eats 2 pears. How many pears are left?
    Answer: 3 x 4 = 12.
    12 - 2 = 10.
    The answer is 10.

Beside problems there are drills, ten bare sums in a row: the same text teaches three times the arithmetic, and numbers
up to 99 ask for the digits' rule where the pairs of the problems alone can be learnt by heart.

Two things are kept apart for measuring. **Number pairs**: one ordered pair in eight of each operation, chosen by a
hash, never occurs in training text (:func:`is_held_out_pair`; other texts of the domain drop the documents that use
one). The other order of a held-out pair may occur: nothing else tells a table of multiplication. **Templates**: the
last two of each kind are never trained on.
"""

from __future__ import annotations

import hashlib
import random
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from minispec.lab.training.corpus import Text

#: Smallest and largest left and right operand of each operation, both included.
RANGES: Mapping[str, tuple[tuple[int, int], tuple[int, int]]] = {
    "+": ((2, 40), (2, 20)),
    "-": ((3, 40), (2, 20)),
    "x": ((2, 10), (2, 10)),
}
#: The same for one half of the sums of a drill; the other half keeps to RANGES.
WIDE_RANGES: Mapping[str, tuple[tuple[int, int], tuple[int, int]]] = {
    "+": ((0, 99), (0, 99)),
    "-": ((0, 99), (0, 99)),
    "x": ((0, 12), (0, 12)),
}
#: One ordered number pair in this many is held out.
HELD_OUT_PAIR_ONE_IN = 8
#: Templates of each kind, at the end of its list, that training never sees.
HELD_OUT_TEMPLATES = 2
#: Problems made for training, and the share of each number of steps among them (0: a bare sum without a story).
NUM_PROBLEMS = 120_000
STEP_SHARES: Mapping[int, float] = {0: 0.2, 1: 0.4, 2: 0.4}
#: Drills made for training, and the sums of each.
NUM_DRILLS = 20_000
SUMS_PER_DRILL = 10
SEED = 31

NAMES: Sequence[tuple[str, str]] = (
    ("Anna", "she"), ("Ben", "he"), ("Carla", "she"), ("Dan", "he"), ("Ella", "she"), ("Finn", "he"), ("Grace", "she"),
    ("Hugo", "he"), ("Ida", "she"), ("Jack", "he"), ("Kim", "she"), ("Leo", "he"), ("Lily", "she"), ("Max", "he"),
    ("Mia", "she"), ("Noah", "he"), ("Nora", "she"), ("Omar", "he"), ("Pia", "she"), ("Ravi", "he"), ("Rosa", "she"),
    ("Sam", "he"), ("Sara", "she"), ("Sue", "she"), ("Tim", "he"), ("Tom", "he"), ("Uma", "she"), ("Will", "he"),
    ("Yuki", "she"), ("Zara", "she"), ("Amy", "she"), ("Bob", "he"), ("Jane", "she"), ("Mark", "he"), ("Lucy", "she"),
    ("Paul", "he"),
)  # fmt: skip
THINGS: Sequence[str] = (
    "apples", "balls", "bananas", "beads", "berries", "books", "buttons", "cakes", "candies", "cards", "carrots",
    "cars", "coins", "cookies", "crayons", "cups", "dolls", "eggs", "flowers", "grapes", "hats", "keys", "kites",
    "leaves", "lemons", "marbles", "nuts", "oranges", "peaches", "pears", "pencils", "pens", "plums", "rocks", "shells",
    "stamps", "stars", "stickers", "stones", "toys",
)  # fmt: skip
FOODS: Sequence[str] = (
    "apples", "bananas", "berries", "cakes", "candies", "carrots", "cookies", "eggs", "grapes", "lemons", "nuts",
    "oranges", "peaches", "pears", "plums",
)  # fmt: skip
HOLDERS: Sequence[str] = (
    "bags",
    "baskets",
    "boxes",
    "jars",
    "packs",
    "bowls",
    "drawers",
    "shelves",
    "buckets",
    "trays",
)

#: Bare sums, by operation. In templates ``{n}`` and ``{o}`` are names, ``{p}`` and ``{P}`` the pronoun of ``{n}``,
#: ``{t}`` things, ``{f}`` things to eat, ``{h}`` what holds things, ``{a}``, ``{b}`` and ``{c}`` the numbers. The last
#: two of each list are held out.
BARE: Mapping[str, Sequence[str]] = {
    "+": (
        "What is {a} + {b}?", "What is {a} plus {b}?", "How much is {a} + {b}?", "Add {a} and {b}.",
        "What do you get when you add {b} to {a}?", "Find the sum of {a} and {b}.", "Work out {a} + {b}.",
        "What is the sum of {a} and {b}?", "How much is {a} plus {b}?",
    ),
    "-": (
        "What is {a} - {b}?", "What is {a} minus {b}?", "How much is {a} - {b}?", "Take {b} away from {a}.",
        "What do you get when you take {b} from {a}?", "Subtract {b} from {a}.", "Work out {a} - {b}.",
        "What is left when you take {b} from {a}?", "How much is {a} minus {b}?",
    ),
    "x": (
        "What is {a} x {b}?", "What is {a} times {b}?", "How much is {a} x {b}?", "Multiply {a} by {b}.",
        "What do you get when you multiply {a} by {b}?", "How many are {a} times {b}?", "Work out {a} x {b}.",
        "What is {a} multiplied by {b}?", "How much is {a} times {b}?",
    ),
}  # fmt: skip
ONE_STEP: Mapping[str, Sequence[str]] = {
    "+": (
        "{n} has {a} {t}. {P} gets {b} more {t}. How many {t} does {n} have now?",
        "{n} has {a} {t}. {o} gives {n} {b} more. How many {t} does {n} have now?",
        "There are {a} {t} in a box. {n} puts {b} more {t} into the box. How many {t} are in the box now?",
        "{n} found {a} {t} and {o} found {b} {t}. How many {t} did they find altogether?",
        "{n} has {a} {t} and {o} has {b} {t}. How many {t} do they have in all?",
        "{n} picked {a} {t} on Monday and {b} {t} on Tuesday. How many {t} did {n} pick?",
        "{n} bought {a} {t} and then {b} more {t}. How many {t} did {p} buy in total?",
        "{n} had {a} {t}. After {p} got {b} more, how many {t} did {p} have?",
        "{n} sees {a} red {t} and {b} blue {t}. How many {t} does {p} see?",
        "{o} has {b} more {t} than {n}. {n} has {a} {t}. How many {t} does {o} have?",
        "One jar holds {a} {t} and another jar holds {b} {t}. How many {t} do both jars hold together?",
        "{n} made {a} {t} in the morning and {b} {t} in the evening. How many {t} did {p} make that day?",
    ),
    "-": (
        "{n} has {a} {t}. {P} gives {b} {t} to {o}. How many {t} does {n} have left?",
        "{n} had {a} {t}. {P} lost {b} of them. How many {t} does {n} have now?",
        "There are {a} {t} in a box. {n} takes {b} {t} out of the box. How many {t} are left in the box?",
        "{n} had {a} {t} and sold {b} of them. How many {t} are left?",
        "{n} has {a} {t} and {o} has {b} {t}. How many more {t} does {n} have than {o}?",
        "{n} had {a} {t}. {P} gave away {b} {t}. How many {t} were left?",
        "There were {a} {t} on the table. {o} took {b} of them. How many {t} are on the table now?",
        "{n} needs {a} {t}. {P} already has {b} {t}. How many more {t} does {p} need?",
        "{n} and {o} have {a} {t} together. {b} of them are {o}'s. How many {t} are {n}'s?",
        "{o} has {b} fewer {t} than {n}. {n} has {a} {t}. How many {t} does {o} have?",
        "{n} carried {a} {t} home but dropped {b} on the way. How many {t} did {p} bring home?",
        "Of {a} {t}, {b} are red and the others are green. How many {t} are green?",
    ),
    "x": (
        "{n} has {a} {h} with {b} {t} in each. How many {t} does {n} have?",
        "There are {a} {h}. Each of the {h} holds {b} {t}. How many {t} are there in all?",
        "{n} buys {a} {h} of {t}. There are {b} {t} in each. How many {t} does {p} buy?",
        "{n} puts {b} {t} into each of {a} {h}. How many {t} does {p} use?",
        "{n} reads {b} pages a day for {a} days. How many pages does {p} read?",
        "Each of {a} children has {b} {t}. How many {t} do they have altogether?",
        "{n} saves {b} dollars a week. How many dollars does {p} save in {a} weeks?",
        "There are {a} rows of {b} {t}. How many {t} are there?",
        "{o} has {b} {t}. {n} has {a} times as many. How many {t} does {n} have?",
        "One of the {t} costs {b} dollars. {n} buys {a} of them. How many dollars does {p} pay?",
        "{n} fills {a} {h} and every one of them gets {b} {t}. How many {t} are there altogether?",
        "A pack has {b} {t}. {n} opens {a} packs. How many {t} does {p} find?",
    ),
}
TWO_STEPS: Mapping[str, Sequence[str]] = {
    "++": (
        "{n} has {a} {t}. {o} gives {n} {b} {t}, and then {p} buys {c} more. How many {t} does {n} have now?",
        "{n} picked {a} {t} on Monday, {b} on Tuesday and {c} on Friday. How many {t} did {p} pick in all?",
        "There are {a} red {t}, {b} blue {t} and {c} green {t}. How many {t} are there altogether?",
        "{n} finds {a} {t}. {P} finds {b} more, and {o} finds {c}. How many {t} do they find together?",
        "A box holds {a} {t}. {n} adds {b} {t} and {o} adds {c}. How many {t} does the box hold then?",
        "{n} won {a} {t}, then {b} {t}, then {c} {t}. How many {t} did {p} win?",
    ),
    "+-": (
        "{n} has {a} {t}. {P} gets {b} more {t} and gives {c} to {o}. How many {t} does {n} have left?",
        "{n} had {a} {t}. {P} bought {b} more and lost {c}. How many {t} does {p} have now?",
        "There are {a} {t} in a box. {n} puts in {b} more, and {o} takes out {c}. How many {t} are in the box?",
        "{n} picked {a} {f} and {o} picked {b}. They ate {c} of them. How many {f} were left?",
        "{n} baked {a} cakes in the morning and {b} in the evening. {P} sold {c}. How many cakes are left?",
        "{n} has {a} red {t} and {b} blue {t}. {P} gives {c} of them away. How many {t} does {p} keep?",
        "After finding {a} {t} and then {b} more, {n} lost {c}. How many {t} did {p} still have?",
    ),
    "-+": (
        "{n} has {a} {t}. {P} gives {b} to {o} and finds {c} more. How many {t} does {n} have now?",
        "{n} had {a} {t}. {P} lost {b} of them, but then bought {c}. How many {t} does {p} have now?",
        "There are {a} {t} in a box. {n} takes out {b}, and {o} puts in {c}. How many {t} are in the box?",
        "{n} had {a} dollars. {P} spent {b} dollars and earned {c} dollars. How many dollars does {n} have?",
        "There were {a} birds in a tree. {b} flew away and {c} came. How many birds are in the tree now?",
        "{n} sold {b} of {a} {t} and then made {c} new ones. How many {t} does {p} have?",
    ),
    "--": (
        "{n} has {a} {f}. {P} gives {b} to {o} and eats {c}. How many {f} are left?",
        "{n} had {a} dollars. {P} spent {b} dollars on a toy and {c} dollars on a book. How many dollars are left?",
        "There are {a} {t} in a box. {n} takes {b} of them and {o} takes {c}. How many {t} are left in the box?",
        "{n} had {a} {t}. {P} lost {b} on Monday and {c} on Tuesday. How many {t} does {p} have now?",
        "{a} children were at a party. {b} went home, and later {c} more went home. How many children stayed?",
        "Of {a} {t}, {n} gave {b} to {o} and {c} to a friend. How many {t} did {p} keep?",
    ),
    "x+": (
        "{n} has {a} {h} with {b} {t} in each. {P} finds {c} more {t}. How many {t} does {n} have now?",
        "There are {a} {h} with {b} {t} in each, and {c} {t} on the table. How many {t} are there in all?",
        "{n} buys {a} packs of {b} {t}. {o} gives {n} {c} more. How many {t} does {p} have?",
        "{n} reads {b} pages a day for {a} days, and then {c} pages more. How many pages does {p} read?",
        "There are {a} rows of {b} {t} and {c} other {t}. How many {t} are there?",
        "Each of {a} friends gives {n} {b} {t}. {P} had {c} {t} before. How many {t} does {p} have now?",
    ),
    "x-": (
        "{n} has {a} {h} with {b} {f} in each. {P} eats {c} {f}. How many {f} are left?",
        "{n} has {a} {h} with {b} {t} in each. {P} gives {c} {t} to {o}. How many {t} does {n} have left?",
        "{n} buys {a} packs of {b} {t} and loses {c}. How many {t} does {p} have?",
        "There are {a} rows of {b} {t}. {n} takes {c} {t} away. How many {t} are left?",
        "{n} earns {b} dollars a day for {a} days and spends {c} dollars. How many dollars does {p} have left?",
        "There were {a} {h} with {b} {t} each. {o} broke {c} of the {t}. How many {t} are whole?",
    ),
    "+x": (
        "{n} has {a} {t} and {o} gives {n} {b} more. Jill has {c} times as many as {n} has now. How many {t} does Jill "
        "have?",
        "{n} has {a} red {h} and {b} blue {h}. Each holds {c} {t}. How many {t} does {n} have?",
        "{n} works {a} hours on Monday and {b} hours on Tuesday for {c} dollars an hour. How many dollars does {p} "
        "earn?",
        "{a} girls and {b} boys get {c} {t} each. How many {t} do they get altogether?",
        "{n} buys {a} pens and {b} pencils. Each costs {c} dollars. How many dollars does {p} pay?",
        "{n} reads for {a} days, and then for {b} days more, {c} pages a day. How many pages does {p} read?",
    ),
    "-x": (
        "{n} had {a} {h} and gave {b} away. Each holds {c} {t}. How many {t} does {n} have now?",
        "There were {a} children. {b} went home. Each of the others got {c} {t}. How many {t} did they get?",
        "{n} made {a} {f} and ate {b}. {P} sold the others for {c} dollars each. How many dollars did {p} get?",
        "{n} has {a} {h}, but {b} are empty. Each of the others holds {c} {t}. How many {t} are there?",
        "Of {a} tables, {b} are broken. Each of the others seats {c} people. How many people can sit down?",
        "{n} bought {a} packs and gave {b} back. There are {c} {t} in each. How many {t} does {p} have?",
    ),
}
KINDS: Mapping[int, Mapping[str, Sequence[str]]] = {0: BARE, 1: ONE_STEP, 2: TWO_STEPS}

_EQUATION = re.compile(r"(?<![\d.,])(?=(\d+) *([-+x*]) *(\d+))")


@dataclass(frozen=True)
class Problem:
    """One problem.

    Attributes
    ----------
    question : str
        Without the word ``Question:``.
    steps : tuple of (int, str, int, int)
        Left operand, operation, right operand and result of each step.
    """

    question: str
    steps: tuple[tuple[int, str, int, int], ...]

    @property
    def answer(self) -> int:
        """Result of the last step."""
        return self.steps[-1][-1]

    @property
    def prompt(self) -> str:
        """The text up to where the answer begins."""
        return f"Question: {self.question}\nAnswer:"

    @property
    def document(self) -> str:
        """The whole text, as it stands in the corpus."""
        return f"{self.prompt} {_write_out(self.steps)}\nThe answer is {self.answer}."


def is_held_out_pair(left: int, sign: str, right: int) -> bool:
    """Whether an ordered pair of numbers under an operation is kept from training: a property of the three alone."""
    digest = hashlib.sha256(f"{left}{sign}{right}".encode()).digest()
    return int.from_bytes(digest[:8], "big") % HELD_OUT_PAIR_ONE_IN == 0


def uses_held_out_pair(document: str) -> bool:
    """Whether some sum written in a document, such as ``3 x 4`` or ``12+7``, is a held-out pair."""
    found = ((int(left), "x" if sign == "*" else sign, int(right)) for left, sign, right in _EQUATION.findall(document))
    return any(_in_range(*sum_) and is_held_out_pair(*sum_) for sum_ in found)


def _in_range(left: int, sign: str, right: int) -> bool:
    (low, high), (right_low, right_high) = RANGES[sign]
    return low <= left <= high and right_low <= right <= right_high and (sign != "-" or right < left)


def _result(left: int, sign: str, right: int) -> int:
    return {"+": left + right, "-": left - right, "x": left * right}[sign]


def _write_out(steps: Iterable[tuple[int, str, int, int]]) -> str:
    """Write sums out, a line each."""
    return "\n".join(f"{left} {sign} {right} = {result}." for left, sign, right, result in steps)


def _numbers(signs: str, held_out: bool, rng: random.Random) -> tuple[tuple[int, str, int, int], ...]:
    """Draw the steps of a problem; every pair in them is held out, or none is."""
    while True:
        steps: list[tuple[int, str, int, int]] = []
        left = rng.randint(*RANGES[signs[0]][0])
        for sign in signs:
            right = rng.randint(*RANGES[sign][1])
            if not _in_range(left, sign, right) or is_held_out_pair(left, sign, right) != held_out:
                break
            steps.append((left, sign, right, _result(left, sign, right)))
            left = steps[-1][-1]
        if len(steps) == len(signs):
            return tuple(steps)


def make_problem(num_steps: int, held_out_pairs: bool, held_out_templates: bool, rng: random.Random) -> Problem:
    """Draw one problem.

    Parameters
    ----------
    num_steps : int
        1 or 2; 0 is a bare sum, of one step and without a story.
    held_out_pairs : bool
        Whether the number pair of every step is a held-out one; otherwise none is.
    held_out_templates : bool
        Whether the template is a held-out one.
    """
    kinds = KINDS[num_steps]
    signs = rng.choice(list(kinds))
    templates = kinds[signs]
    templates = templates[-HELD_OUT_TEMPLATES:] if held_out_templates else templates[:-HELD_OUT_TEMPLATES]
    steps = _numbers(signs, held_out_pairs, rng)
    (name, pronoun), (other, _) = rng.sample(NAMES, 2)
    numbers = dict(zip("abc", (steps[0][0], *(step[2] for step in steps)), strict=False))
    question = rng.choice(templates).format(
        n=name,
        o=other,
        p=pronoun,
        P=pronoun.capitalize(),
        t=rng.choice(THINGS),
        f=rng.choice(FOODS),
        h=rng.choice(HOLDERS),
        **numbers,
    )
    return Problem(question, steps)


def training_sums(num_problems: int = NUM_PROBLEMS, seed: int = SEED) -> Text:
    """Make the training text: no held-out pair and no held-out template is in it."""
    rng = random.Random(seed)
    shares = list(STEP_SHARES.values())
    drawn = rng.choices(list(STEP_SHARES), shares, k=num_problems)
    problems = (make_problem(num_steps, False, False, rng) for num_steps in drawn)
    documents = tuple(dict.fromkeys(problem.document for problem in problems))  # exact copies dropped, order kept
    return Text("sums", "train", documents, f"minispec.lab.training.sums, seed {seed}")


def _draw_for_drill(rng: random.Random) -> tuple[int, str, int, int]:
    """Draw a sum of a drill: its result is no negative number, and its pair is not held out."""
    while True:
        sign = rng.choice(list(RANGES))
        lefts, rights = rng.choice((RANGES, WIDE_RANGES))[sign]
        left, right = rng.randint(*lefts), rng.randint(*rights)
        kept_apart = _in_range(left, sign, right) and is_held_out_pair(left, sign, right)
        if not kept_apart and (sign != "-" or right <= left):
            return left, sign, right, _result(left, sign, right)


def training_drills(num_drills: int = NUM_DRILLS, seed: int = SEED) -> Text:
    """Make the drills: no held-out pair is in them, and no story."""
    rng = random.Random(f"drills {seed}")
    documents = tuple(_write_out(_draw_for_drill(rng) for _ in range(SUMS_PER_DRILL)) for _ in range(num_drills))
    return Text("drills", "train", documents, f"minispec.lab.training.sums, seed {seed}")


def held_out_sums(num_steps: int, held_out_templates: bool, count: int, seed: int = SEED) -> list[Problem]:
    """Make problems whose every number pair is held out, all different, the same ones every time."""
    rng = random.Random(f"{seed} {num_steps} {held_out_templates}")
    problems: dict[str, Problem] = {}
    while len(problems) < count:
        problem = make_problem(num_steps, True, held_out_templates, rng)
        problems.setdefault(problem.document, problem)
    return list(problems.values())
