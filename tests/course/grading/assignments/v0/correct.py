"""Other right ways to write V0; each gets full points."""


# %% with_numpy
# With arrays.
def share(counts, i):
    return float(np.asarray(counts)[i] / np.sum(counts))


def spread(counts):
    share_of = [share(counts, i) for i in range(len(counts))]
    return float(np.max(share_of) - np.min(share_of))
