import { SkerryError } from "@skerry/contract/errors";
import { endOfHost } from "./end-reason.ts";

/** The end of a VM in which a template was built. */
export const gaveWay = endOfHost("the host's disk was nearly full, and builds give way first");

/** What is said to those who use such a VM; undefined where the reason is another one. */
export function gaveWayError(reason: string | null, cause?: Error): SkerryError | undefined {
  if (reason === null || reason !== gaveWay.reason) return undefined;
  return new SkerryError("no_capacity", `The build was ended: ${reason}.`, {
    remediation: "Free space on the host, and build again.",
    cause,
  });
}
