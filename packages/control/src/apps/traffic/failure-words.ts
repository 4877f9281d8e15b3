// Why a request failed, in words. Pure.

import type { EdgeFailure } from "@skerry/contract/host-api/edge";

/** Words by the letters of HAProxy's log: who ended it, and what it was waiting for. */
const words: Readonly<Record<string, string>> = {
  "--": "the app answered with it",
  SC: "no connection to the instance could be made",
  sC: "the instance took no connection in time",
  SQ: "no instance became free",
  sQ: "it waited too long for its turn",
  SH: "the app broke off, or did not answer in HTTP",
  PH: "the answer of the app is not HTTP as it should be",
  sH: "the app did not answer in time",
  SD: "the app broke off in its answer",
  sD: "the app stopped in its answer",
};

export function failureWords({ end, vm }: Pick<EdgeFailure, "end" | "vm">): string {
  if (end === "SC" && vm === null) return "no instance takes requests";
  if (/^[Cc]/.test(end)) return "the client left, or sent nothing more";
  return words[end] ?? `the proxy ended it (${end})`;
}
