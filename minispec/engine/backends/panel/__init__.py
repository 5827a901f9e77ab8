"""Beside stop 10: the default backend, register tiles over packed panels; the last rung of the kernels' ladder.

From the interface down: ``backend`` and ``layout``, ``stack`` (all layers in one call), ``attention`` and ``products``
(called by their ``addresses``), ``elements``. Then LLVM IR: ``sums`` (loops of attention), ``tile`` (of a product),
``bits``, and ``emit``, the words these are written in. ``isa`` says what this processor has. ``docs/kernels.md``
explains them all.

Two rules make a row's bits independent of the other rows: a sum is one chain (``tile.multiply``), or has an order that
its length alone decides (``sums.dot``, ``sums.weighted_sum``); what is left is element by element.
"""

from minispec.engine.backends.panel.backend import PanelBackend

__all__ = ["PanelBackend"]
