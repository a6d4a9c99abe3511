"""Asks Penumbra about a game: python client.py GAME.json [PLAYER [TURN [NODES]]]."""

import json
import subprocess
import sys
from pathlib import Path

given = dict(enumerate(sys.argv[2:]))
player, turn, nodes = given.get(0, "white"), int(given.get(1, 1)), int(given.get(2, 200))
engine = subprocess.Popen(
    [sys.executable, "-m", "penumbra", "analyse", "--stdio"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
)
game = json.loads(Path(sys.argv[1]).read_text())
query = {"id": "a", "game": game, "player": player, "turns": turn, "nodes": nodes}
engine.stdin.write(json.dumps(query) + "\n")
engine.stdin.close()
for line in engine.stdout:
    answer = json.loads(line)
    if answer["type"] == "decision":
        print(f"turn {answer['turn']}, {answer['step']}: {answer['chosen']}, value {answer['value']}")
    elif answer["type"] == "error":
        sys.exit(answer["error"])
