"""You count no more drafts than were emitted; what was cut away was drafted, and paid for."""

FAILS = "a4.q6.counts"


right_figures = metrics


def metrics(steps):
    told = right_figures([step | {"drafted": min(step["drafted"], step["emitted"])} for step in steps])
    evaluated = right_figures(steps)
    return told | {"num_evaluated_tokens": evaluated["num_evaluated_tokens"], "alpha": evaluated["alpha"]}
