import { SkerryError } from "@skerry/contract/errors";
import { endOfHost } from "./end-reason.ts";

/** The end of a VM in which a template was built. */
export const endOfFullDisk = endOfHost("the host's disk was nearly full, and builds give way first");

/** What is said to those who use such a VM; undefined where the reason is another one. */
export function fullDiskError(reason: string | null, cause?: Error): SkerryError | undefined {
  if (reason === null || reason !== endOfFullDisk.reason) return undefined;
  return new SkerryError("no_capacity", `The build was ended: ${reason}.`, {
    remediation: "Free space on the host, and build again.",
    cause,
  });
}
