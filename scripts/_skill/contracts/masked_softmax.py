"""The reference of a masked softmax, in plain Python: what a trainer's own has to agree with.

An illegal action's logit is a large finite negative number, not minus infinity (whose difference is NaN) and not 0
(which leaves the action likely); the probabilities are taken anew over the legal ones and are exactly 0 elsewhere.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

ILLEGAL = -1e30


def masked_softmax(logits: Sequence[float], mask: Sequence[int]) -> list[float]:
    """(A,) probabilities of (A,) finite logits under a mask of 0 and 1; sums to 1 over the legal actions.

    Raises ValueError where the sizes differ or no action is legal.
    """
    if len(logits) != len(mask):
        raise ValueError(f"{len(logits)} logits and a mask of {len(mask)}")
    if not any(mask):
        raise ValueError("no action is legal")
    masked = [logit if legal else ILLEGAL for logit, legal in zip(logits, mask, strict=True)]
    # The greatest of the legal ones: an illegal logit may never shift the others.
    most = max(logit for logit, legal in zip(masked, mask, strict=True) if legal)
    weights = [math.exp(min(0.0, logit - most)) if legal else 0.0 for logit, legal in zip(masked, mask, strict=True)]
    total = math.fsum(weights)
    return [weight / total for weight in weights]
