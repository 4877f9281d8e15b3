// Numbers that a guest has sent. What is no such number is 0.

export function integer(value: unknown): number {
  return typeof value === "number" && Number.isSafeInteger(value) ? value : 0;
}

export function natural(value: unknown): number {
  return Math.max(0, integer(value));
}
