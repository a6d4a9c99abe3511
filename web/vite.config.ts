// Builds the page into the Python package, under fixed names, with a hash of everything it was built from.
import { defineConfig, type Plugin } from "vite";
import { boardLicence, recordSources } from "./sources.mjs";

function sources(): Plugin {
  let root = "";
  return {
    name: "record-sources",
    configResolved(config) {
      root = config.root;
    },
    generateBundle() {
      this.emitFile({ type: "asset", fileName: "cm-chessboard.LICENSE.txt", source: boardLicence(root) });
    },
    writeBundle(options) {
      if (options.dir) recordSources(root, options.dir);
    },
  };
}

export default defineConfig({
  base: "./",
  plugins: [sources()],
  build: {
    outDir: "../src/penumbra/server/static",
    emptyOutDir: true,
    target: "es2022",
    modulePreload: false,
    rollupOptions: {
      output: { entryFileNames: "penumbra.js", assetFileNames: "penumbra.[ext]" },
    },
  },
  server: { proxy: { "/api": { target: "http://127.0.0.1:8000", ws: true, changeOrigin: true } } },
});
