"""Random mixes of attacks (random_mix.py), judged like the others: 5 s, or 60 s in the long form.

HOSTILE_SEED=N runs another seed.
"""
import os

import random_mix

SEED = int(os.environ.get("HOSTILE_SEED", 1))


def test_the_engine_holds_against_a_random_mix(attack, long_form):
    attack(random_mix.case(60 if long_form else 5, SEED))


def test_the_engine_lives_through_a_random_mix_without_memory(attack, long_form):
    attack(random_mix.case_without_memory(30 if long_form else 3, SEED))
