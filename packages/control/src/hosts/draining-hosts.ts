// Refusals while the operator has hosts drained, whose end the operator decides: `host_unavailable` would say
// that they do not answer.

import { SkerryError } from "@skerry/contract/errors";
import type { HostRow } from "./host-rows.ts";

type State = Pick<HostRow, "status" | "desired">;

/** As a sentence goes on after "the host is". Undefined where its drain is not the reason. */
export function drainedText({ status, desired }: State): string | undefined {
  if (status === "maintenance") return "in maintenance";
  return status === "draining" || (status === "online" && desired === "drained")
    ? "being drained"
    : undefined;
}

/** The error for one host that alone will do. */
export function hostDraining(host: Pick<HostRow, "id"> & State, what: string): SkerryError {
  return new SkerryError("host_draining", `${what} is ${drainedText(host) ?? "being drained"}.`, {
    remediation: `Ask the operator: \`skerry host activate ${host.id}\` lets it have VMs again, or the drain is moving what is on it to another host.`,
    // A drain carries what is paused to another host, where it goes on.
    retryAfterS: MOVED_RETRY_S,
    context: { host_id: host.id, host_status: host.status },
  });
}

/**
 * Why none of these hosts takes a VM, where the operator has drained some of them; `error`, which names no
 * drain, where it has not.
 */
export function whyNoHost(hosts: readonly State[], error: SkerryError): SkerryError {
  const drained = hosts.filter((host) => drainedText(host) !== undefined);
  if (drained.length === 0) return error;
  const counts = countsOf(hosts);
  const away = hosts.length - drained.length;
  if (away > 0)
    return new SkerryError("host_unavailable", `${error.message.replace(/\.$/, "")}: ${counts}.`, {
      remediation: `Try again when one is back, or ask the operator: ${ACTIVATE}.`,
      ...(error.retryAfterS !== undefined && { retryAfterS: error.retryAfterS }),
      ...(error.context !== undefined && { context: error.context }),
    });
  return new SkerryError("host_draining", `No host takes new VMs now: ${counts}.`, {
    remediation: `Ask the operator: ${ACTIVATE}.`,
    retryAfterS: DRAINED_RETRY_S,
    ...(error.context !== undefined && { context: error.context }),
  });
}

const MOVED_RETRY_S = 10;
/** Longer than clients wait by themselves: nothing but the operator changes it. */
const DRAINED_RETRY_S = 60;

const ACTIVATE =
  "`skerry host list` shows the hosts, and `skerry host activate HOST` lets one have VMs again";

function countsOf(hosts: readonly State[]): string {
  const texts = hosts.map(
    (host) => drainedText(host) ?? (host.status === "offline" ? "offline" : "coming back"),
  );
  const counted = [...new Set(texts)].map((text) => {
    const count = texts.filter((other) => other === text).length;
    return `${count} ${count === 1 ? "is" : "are"} ${text}`;
  });
  return counted.join(", ");
}
