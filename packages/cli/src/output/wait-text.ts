import type { WaitsFor } from "@skerry/contract/waits-for";
import { relativeTime } from "./relative-times.ts";

/** The cause of a delay, as `show` has it. */
export function waitText({ reason, since }: WaitsFor): string {
  return `${reason} (since ${relativeTime(since)})`.replace("since now", "just now");
}
