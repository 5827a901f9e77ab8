"""Queues as heaps."""

import itertools


def admit(waiting, running, free, max_running, size):
    order = sorted((request["id"], pages(request["prompt"] + request["made"], size)) for request in waiting)
    ends = list(itertools.accumulate(need for _, need in order))
    fits = [len(running) + i < max_running and end + (len(running) + i > 0) <= free for i, end in enumerate(ends)]
    return [number for (number, _), _ in zip(order, itertools.takewhile(bool, fits), strict=False)]
