export function recordSources(root: string, outDir: string): void;
