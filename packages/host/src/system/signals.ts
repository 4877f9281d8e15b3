import { constants } from "node:os";

/** `SIGKILL` for 9; a number that this system has no name for is told as it is. */
export function signalName(number: number): string {
  const [name] = Object.entries(constants.signals).find(([, value]) => value === number) ?? [];
  return name ?? `signal ${number}`;
}
