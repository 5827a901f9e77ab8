"""You leave out drafts that were cut away; they were drafted, and paid for."""

FAILS = "a4.q6.counts"

right_metrics = metrics


def metrics(steps):
    drafted = sum(min(s["drafted"], s["emitted"]) if s["emitted"] <= s["accepted"] else s["drafted"] for s in steps)
    return right_metrics(steps) | {"num_draft_tokens": drafted}
