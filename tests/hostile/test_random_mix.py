"""Random mixes of attacks (random_mix.py), judged like the others: 5 s, or 60 s in the long form.

HOSTILE_SEED=N runs another seed.
"""
import os

import random_mix


def test_the_engine_holds_against_a_random_mix(attack, long_form):
    seed = int(os.environ.get("HOSTILE_SEED", 1))
    attack(random_mix.case(60 if long_form else 5, seed))
