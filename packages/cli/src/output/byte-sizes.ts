// Bytes as people read them: `512 B`, `1.5 MiB`. JSON has them as they are.

const UNITS = ["B", "KiB", "MiB", "GiB", "TiB"];

/** `bytes` is at least 0. */
export function sizeText(bytes: number): string {
  const power = Math.min(UNITS.length - 1, bytes < 1 ? 0 : Math.floor(Math.log2(bytes) / 10));
  const value = bytes / 1_024 ** power;
  return `${power === 0 || value >= 100 ? Math.round(value) : value.toFixed(1)} ${UNITS[power]}`;
}
