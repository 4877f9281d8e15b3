import { SkerryError } from "@skerry/contract/errors";

const PORT_MAX = 65_535;
const PREFIX = /^\/v1\/[a-z]+\/[^/?]+\/ports\/[^/?]+/;

export function readPort(text: string): number {
  const port = /^\d{1,5}$/.test(text) ? Number(text) : 0;
  if (port >= 1 && port <= PORT_MAX) return port;
  throw new SkerryError("invalid_port", `"${text.slice(0, 20)}" is not a port.`, {
    remediation: "Give a number from 1 to 65535.",
    context: { field: "port" },
  });
}

export interface PortPath {
  /** What comes before the guest's own path. */
  readonly prefix: string;
  /** Path and query as the guest sees them, byte for byte as they were sent. */
  readonly guestUrl: string;
}

export function splitPortUrl(url: string): PortPath {
  const [prefix = ""] = PREFIX.exec(url) ?? [];
  const rest = url.slice(prefix.length);
  return { prefix, guestUrl: rest.startsWith("/") ? rest : `/${rest}` };
}
