"""Mistakes that students make in V0; minispec/course/grading/catalogue.py says how to read and write them."""


# %% level_of_nothing fails v0.q2.level
# You leave the floor out: `level` is never below it.
def level(x):
    return float(x)


# %% share_of_the_rest fails v0.q1.share in share
# You divide by the others; a share is of all, as Q1 says.
# - return counts[i] / sum(counts)
# + return counts[i] / (sum(counts) - counts[i])

# %% spread_unscaled fails v0.q3.spread
# You subtract counts; `spread` is of shares.
right_share = share


def spread(counts):
    return max(counts) - min(counts)
