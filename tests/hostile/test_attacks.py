"""Each line of the tables of attacks, judged by one measure (judge.py); docs/security.md has the bounds."""
import pytest

import client_attacks
import host_attacks
import tls_attacks

# Cases that share an engine in the short form stand together.
CASES = sorted(client_attacks.CASES + host_attacks.CASES + tls_attacks.CASES, key=lambda case: case.engine())


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_engine_holds_against(case, attack):
    attack(case)
