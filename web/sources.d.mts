export function recordSources(root: string, outDir: string): void;
export function boardLicence(root: string): string;
