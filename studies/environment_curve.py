"""Draws how the example's policy gets better: `python -m studies.environment_curve PICTURE.png [STEPS]`."""

from __future__ import annotations

import sys

import matplotlib.pyplot as plt
from examples.train_a_policy import Settings, share_won, train


def main(picture: str, steps: int = Settings.steps) -> None:
    policy, curve = train(Settings(steps=steps))
    print(f"{share_won(policy, 1000):.1%} of 1,000 games against Random won")
    taken, won, _ = zip(*curve, strict=True)
    figure, axes = plt.subplots(figsize=(7, 3.5), layout="constrained")
    axes.plot([each / 1000 for each in taken], [100 * share for share in won])
    axes.axhline(50, color="grey", linewidth=0.8, linestyle=":")
    axes.set(xlabel="thousand steps", ylabel="% of the last 300 games won", ylim=(40, 100))
    figure.savefig(picture, dpi=110)


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:]))
