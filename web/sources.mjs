// What the page is built from, as one hash: the tests compute it too, and so know that the bundle is not out of date.
import { createHash } from "node:crypto";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, relative, sep } from "node:path";

const LEFT_OUT = new Set(["node_modules", "README.md"]);

function files(folder) {
  return readdirSync(folder, { withFileTypes: true })
    .filter((entry) => !LEFT_OUT.has(entry.name))
    .flatMap((entry) => {
      const path = join(folder, entry.name);
      return entry.isDirectory() ? files(path) : [path];
    });
}

export function recordSources(root, outDir) {
  const hash = createHash("sha256");
  const names = files(root).map((path) => relative(root, path).split(sep).join("/"));
  for (const name of names.sort()) {
    const content = createHash("sha256")
      .update(readFileSync(join(root, name)))
      .digest("hex");
    hash.update(`${content}  ${name}\n`);
  }
  writeFileSync(join(outDir, "sources.sha256"), `${hash.digest("hex")}\n`);
}

/** The licence of the board's code, which goes along with it. */
export function boardLicence(root) {
  return readFileSync(join(root, "node_modules", "cm-chessboard", "LICENSE"), "utf8");
}
