// Asks Penumbra about a game: node client.mjs GAME.json [PLAYER [TURN [NODES]]].
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";

const [game, player = "white", turn = "1", nodes = "200"] = process.argv.slice(2);
const [program, ...args] = (process.env.PENUMBRA ?? "penumbra").split(" ");
const engine = spawn(program, [...args, "analyse", "--stdio"], { stdio: ["pipe", "pipe", "inherit"] });
const query = { id: "a", game: JSON.parse(readFileSync(game, "utf8")), player, turns: +turn, nodes: +nodes };
engine.stdin.end(JSON.stringify(query) + "\n");

for await (const line of createInterface({ input: engine.stdout })) {
  const answer = JSON.parse(line);
  if (answer.type === "decision")
    console.log(`turn ${answer.turn}, ${answer.step}: ${answer.chosen}, value ${answer.value}`);
  else if (answer.type === "error") {
    console.error(answer.error);
    process.exitCode = 1;
  }
}
