"""You take the pages of those that run off the free ones; free pages are those that nobody holds."""

FAILS = "a6.q2.memory"


def admit(waiting, running, free, max_running, size, right=admit):
    return right(waiting, running, free - sum(pages(request["fed"], size) for request in running), max_running, size)
