"""Accounts of the official server: whose they are."""

from __future__ import annotations

import pytest

from penumbra.games.accounts import is_unknown, player_of


@pytest.mark.parametrize(
    ("account", "player"),
    [
        ("wbernar5", "StockyInference"),
        ("LaSalle Bot", "LaSalle"),
        ("attacker", "Attacker"),
        ("random", "Random"),
        ("trout", "Trout"),
        ("genetic", "Genetic"),
        ("guest-2694", "Human"),
        ("StrangeFish", "StrangeFish"),  # by its own name
        ("TroutFast", "TroutFast"),
        ("guest", "guest"),
    ],
)
def test_whose_an_account_is(account: str, player: str) -> None:
    assert player_of(account) == player


def test_accounts_of_the_organisers_are_unknown() -> None:
    assert is_unknown("apltest0") and is_unknown("apltest74")
    assert not is_unknown("Oracle") and not is_unknown("guest-1")
