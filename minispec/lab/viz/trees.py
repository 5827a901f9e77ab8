"""A step with a tree of candidates as a picture: what was tried, and the path that the target kept."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from rich.tree import Tree

from minispec.engine.colours import Fate
from minispec.engine.generation.events import Drafted, Event, Verified
from minispec.engine.markup import visible
from minispec.lab.viz.film import find_path
from minispec.lab.viz.terminal import Ground, styled_text


def find_longest(events: Iterable[Event]) -> tuple[Drafted, Verified] | None:
    """Return the first of the steps with a tree whose accepted path is the longest; None where there is no tree."""
    found: tuple[Drafted, Verified] | None = None
    drafted: Drafted | None = None
    for event in events:
        if isinstance(event, Drafted):
            drafted = event
        elif isinstance(event, Verified) and drafted is not None and drafted.parents:
            longest = -1 if found is None else found[1].num_accepted
            found = (drafted, event) if event.num_accepted > longest else found
    return found


def draw_tree(
    drafted: Drafted, verified: Verified, decode: Callable[[tuple[int, ...]], str], ground: Ground = "either"
) -> Tree:
    """Draw a step: every candidate with what the draft gave it, the path that was kept, and the target's own token.

    A notebook shows it as a terminal does.

    Parameters
    ----------
    drafted : Drafted
        With parents.
    verified : Verified
        Of the same step.
    decode : callable
        Token ids to text.
    ground : {"light", "dark", "either"}
    """
    path = find_path(drafted, verified)
    picture = Tree("the text so far")
    branches = [picture]
    for node, (token, parent) in enumerate(zip(drafted.tokens, drafted.parents or (), strict=True)):
        fate: Fate = "accepted" if node in path else "rejected"
        label = styled_text([(visible(decode((token,))), fate)], ground)
        if (prob := drafted.probs[node]) < 1.0:  # 1 where nothing was drawn
            label.append_text(styled_text([(f"  {prob:.2f}", "prompt")], ground))
        if node in path:  # a colour alone says nothing where there is none
            label.append_text(styled_text([("  ✓", "accepted")], ground))
        branches.append(branches[parent + 1].add(label))
    end = branches[path[-1] + 1] if path else picture
    own = visible(decode((verified.next_token,)))
    end.add(styled_text([(own, verified.source), ("  from the target", "prompt")], ground))
    return picture
