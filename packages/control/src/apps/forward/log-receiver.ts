// Receivers of logs, as their addresses name them.

import { isIP } from "node:net";

export interface LogReceiver {
  readonly kind: "syslog" | "otlp";
  /** A name, or an address without brackets. */
  readonly host: string;
  readonly port: number;
  /** Header of OTLP. */
  readonly path: string;
  readonly isTls: boolean;
}

const kinds: Readonly<Record<string, Pick<LogReceiver, "kind" | "port" | "isTls">>> = {
  "https:": { kind: "otlp", port: 443, isTls: true },
  "http:": { kind: "otlp", port: 80, isTls: false },
  "syslog+tls:": { kind: "syslog", port: 6514, isTls: true },
};
const NAME = /^(?=.{1,253}$)[a-z0-9_]([a-z0-9_-]{0,62})(\.[a-z0-9_-]{1,63})*\.?$/i;

/** The receiver, or what is wrong with the text. */
export function readReceiver(text: string): LogReceiver | string {
  const url = URL.parse(text);
  const kind = kinds[url?.protocol ?? ""];
  if (url === null || kind === undefined) return "is neither https://HOST/v1/logs nor syslog+tls://HOST:PORT";
  const host = url.hostname.replace(/^\[(.*)\]$/, "$1");
  if (isIP(host) === 0 && !NAME.test(host)) return "has no name or address of a host";
  const port = url.port === "" ? kind.port : Number(url.port);
  return faultOf(url, text, kind.kind) ?? { ...kind, host, path: url.pathname, port };
}

function faultOf(url: URL, text: string, kind: LogReceiver["kind"]): string | undefined {
  if (url.username !== "" || url.password !== "") return "has a name or a password";
  // Also an empty one, which the parsed URL does not tell.
  if (/[?#]/.test(text)) return "has a query or a fragment";
  if (kind === "syslog" && !["", "/"].includes(url.pathname)) return "has a path, which syslog has not";
  return url.port === "0" ? "has no port" : undefined;
}
