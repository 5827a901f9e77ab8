"""Mistakes that students make in A5; minispec/course/grading/catalogue.py says how to read and write them."""


# %% always_eight fails a5.q2.fixed
# You draft as much as you may in every step: behind the first wrong token all of it is paid for nothing.
def plan(tokens, history, c, row):
    return {"gamma": 8, "stop_below": 0.0}


# %% copies_blindly fails a5.q1.dear
# You propose the last tokens again whether or not the text repeats: wrong tokens cost rows of the target.
def plan(tokens, history, c, row):
    return {"copy": tokens[-8:]}


# %% ignores_the_costs fails a5.q1.dear
# You never look at c: four drafts that pay at c = 0.2 cost more than they save at c = 0.5.
def plan(tokens, history, c, row):
    return {"gamma": 4, "stop_below": 0.0}


# %% never_drafts fails a5.q2.fixed
# You never draft; this is plain decoding.
def plan(tokens, history, c, row):
    return {"gamma": 0, "stop_below": 0.0}


# %% never_gives_up fails a5.q1.useless
# You always draft at least one token, also when none has been right for a long time.
def plan(tokens, history, c, row):
    return drafting(history, c, row) | {"gamma": max(1, drafting(history, c, row)["gamma"])}


# %% no_plan fails a5.q1.dear
# You return a number; a plan is a dictionary with "copy", or with "gamma" and "stop_below".
def plan(tokens, history, c, row):
    return 3


# %% only_the_controller fails a5.q2.better
# You only choose how many tokens the draft model proposes. That is sound, and not enough here: this text repeats
# itself, and copies cost no draft forwards.
def plan(tokens, history, c, row):
    return drafting(history, c, row)
