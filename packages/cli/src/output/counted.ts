/** `1 byte`, `2 bytes`, `0 bytes`. */
export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}
