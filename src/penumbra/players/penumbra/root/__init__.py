"""Judgement of the player's own at the root of its searches, beside the paper's algorithms (`dsmcp.root_policy`).

Each part has a file of its own with what it does and why; `RootSettings` says which are on. All off is the paper.
"""

from __future__ import annotations

from dataclasses import replace

from penumbra.core import Infostates
from penumbra.dsmcp.domain import Floats
from penumbra.dsmcp.root_policy import AtRoot, Root, RootPolicy, Scores
from penumbra.players.penumbra.root.danger import Danger
from penumbra.players.penumbra.root.engine_opinion import EngineOpinion
from penumbra.players.penumbra.root.engine_sense import EngineSense
from penumbra.players.penumbra.root.repetition import Repetition
from penumbra.players.penumbra.root_settings import RootSettings
from penumbra.rbc.domain import Situation


class RootJudgement(RootPolicy[Situation, Infostates]):
    """The parts that are on, one after the other."""

    def __init__(self, settings: RootSettings) -> None:
        self.repetition = Repetition(settings.repetition_decay)
        self.parts: list[RootPolicy[Situation, Infostates]] = []
        if settings.engine_weight:
            self.parts.append(EngineOpinion(settings))
        if settings.sense_weight:
            self.parts.append(EngineSense(settings.sense_weight))
        if settings.prudence or settings.reckless < 1:
            self.parts.append(Danger(settings.prudence, settings.reckless))
        if settings.repetition_decay < 1:
            self.parts.append(self.repetition)

    def prior(self, at: AtRoot[Situation, Infostates]) -> Floats:
        for part in self.parts:
            at = replace(at, pi=part.prior(at))
        return at.pi

    def score(self, root: Root, n: Scores, q: Scores, scores: Scores) -> Scores:
        for part in self.parts:
            scores = part.score(root, n, q, scores)
        return scores
