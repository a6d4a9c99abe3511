"""Draws how the policy of examples/train_a_policy.py gets better.

PYTHONPATH=src python -m studies.environment_curve PICTURE.png --steps 196608
"""

from __future__ import annotations

import argparse
from pathlib import Path

from examples.train_a_policy import Settings, share_won, train


def draw(picture: Path, steps: int) -> None:
    import matplotlib.pyplot as plt

    policy, curve = train(Settings(steps=steps))
    print(f"{share_won(policy, 1000):.1%} of 1,000 games against Random won")
    taken, won, _ = zip(*curve, strict=True)
    figure, axes = plt.subplots(figsize=(7, 3.5), layout="constrained")
    axes.plot([each / 1000 for each in taken], [100 * share for share in won])
    axes.axhline(50, color="grey", linewidth=0.8, linestyle=":")
    axes.set(xlabel="thousand steps", ylabel="% of the last 300 games won", ylim=(40, 100))
    figure.savefig(picture, dpi=110)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("picture", type=Path, metavar="PICTURE")
    parser.add_argument("--steps", type=int, default=Settings.steps, help="of all games together")
    options = parser.parse_args()
    draw(options.picture, options.steps)


if __name__ == "__main__":
    main()
