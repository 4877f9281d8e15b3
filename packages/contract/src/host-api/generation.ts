// The generation of a control plane, which control tells hosts on other machines with each call. A host obeys the highest that it has heard of:
// of two copies of one control plane it is the one that took over last.

export const GENERATION_HEADER = "skerry-control-generation";

/** Undefined for what no control plane sends. One that does not send it has not been restored from a backup, which is 0. */
export function readGeneration(header: string | readonly string[] | undefined): number | undefined {
  if (header === undefined) return 0;
  return typeof header === "string" && /^\d{1,15}$/.test(header) ? Number(header) : undefined;
}
