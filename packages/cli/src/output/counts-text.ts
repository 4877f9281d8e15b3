/** `3 running, 1 failed`; `none` where all are 0. */
export function countsText(counts: Readonly<Record<string, number>>): string {
  const some = Object.entries(counts).filter(([, count]) => count > 0);
  return some.map(([status, count]) => `${count} ${status}`).join(", ") || "none";
}
