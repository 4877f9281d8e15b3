// Which name servers this machine uses.

import { readFile } from "node:fs/promises";
import { isIP, isIPv4 } from "node:net";

export interface NameServer {
  readonly address: string;
  readonly port: number;
}

const DNS_PORT = 53;
/** As many as a resolver library asks. */
const SERVERS_MAX = 3;
const RESOLV_CONF = "/etc/resolv.conf";

/** `192.0.2.1`, `192.0.2.1:5353`, `2001:db8::1` or `[2001:db8::1]:5353`; undefined for anything else. */
export function parseServer(text: string): NameServer | undefined {
  if (isIP(text) !== 0) return { address: text, port: DNS_PORT };
  const [, bracketed, plain, digits = ""] = /^(?:\[([^\]]+)\]|([^:]+)):(\d{1,5})$/.exec(text) ?? [];
  const address = bracketed ?? plain ?? "";
  const port = Number(digits);
  if (isIP(address) === 0 || isIPv4(address) === (bracketed !== undefined)) return undefined;
  return port < 1 || port > 65_535 ? undefined : { address, port };
}

/** The servers that a resolver configuration names. */
export function serversIn(resolvConf: string): NameServer[] {
  return resolvConf
    .split("\n")
    .map((line) => /^\s*nameserver\s+(\S+)/.exec(line)?.[1])
    .map((address) => (address === undefined ? undefined : parseServer(address)))
    .filter((server) => server !== undefined)
    .slice(0, SERVERS_MAX);
}

/** Reads the machine's configuration anew: it changes when the machine moves to another network. */
export async function systemServers(file = RESOLV_CONF): Promise<NameServer[]> {
  return serversIn(await readFile(file, "utf8").catch(() => ""));
}
