"""Lists the probabilities from the most tokens to the fewest."""

FAILS = "a3.q2.law"
MISTAKE = "law_reversed"


def tokens_law(alpha, gamma):
    law = [alpha**gamma]
    for accepted in range(gamma - 1, -1, -1):
        law.append(alpha**accepted * (1 - alpha))
    return np.array(law)
