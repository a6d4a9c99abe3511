// What the page is built from, as one hash: the tests compute it too, and so know that the bundle is not out of date.
import { createHash } from "node:crypto";
import { readFileSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { join, relative, sep } from "node:path";

const SOURCES = [
  "index.html",
  "package-lock.json",
  "package.json",
  "sources.mjs",
  "src",
  "tsconfig.json",
  "vite.config.ts",
];

function files(path) {
  if (!statSync(path).isDirectory()) return [path];
  return readdirSync(path).flatMap((name) => files(join(path, name)));
}

export function recordSources(root, outDir) {
  const hash = createHash("sha256");
  const names = SOURCES.flatMap((name) => files(join(root, name))).map((path) =>
    relative(root, path).split(sep).join("/"),
  );
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
