// What a step tells beside how it went, where its server keeps caches. Pure.

import { bytesText } from "../ui/text.ts";

/** `cached` where it was not carried out again; `12 MiB` of what it has written, where that is known. Empty where there is nothing to tell. */
export function stepExtras(step: object): string {
  const isCached = "cache_hit" in step && step.cache_hit === true;
  const bytes = "bytes" in step && typeof step.bytes === "number" ? bytesText(step.bytes) : "";
  return [isCached ? "cached" : "", bytes].filter((one) => one !== "").join(", ");
}
