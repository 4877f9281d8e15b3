// Syslog over TLS: messages of RFC 5424, framed as RFC 5425 says.

import { isIP } from "node:net";
import { connect, type SecureContext } from "node:tls";
import type { LogLevel } from "@skerry/contract/apps/app-logs";
import type { ForwardedLine } from "./forwarded-line.ts";
import type { LogReceiver } from "./log-receiver.ts";
import { ForwardFault, type Address } from "./reachable-address.ts";

/** `local0`. */
const FACILITY = 16;
const severities: Readonly<Record<LogLevel, number>> = { debug: 7, info: 6, warn: 4, error: 3 };

/** HOSTNAME is the machine, APP-NAME the app, PROCID the instance, MSGID the release. */
export function syslogMessage({ app, instance, machine, release, atMs, level, line }: ForwardedLine): string {
  const priority = FACILITY * 8 + severities[level ?? "info"];
  const time = atMs === 0 ? "-" : new Date(atMs).toISOString();
  return `<${priority}>1 ${time} ${machine} ${app.name} ${instance} ${release} - ${line}`;
}

export function syslogFrames(lines: readonly ForwardedLine[]): Buffer {
  const frames = lines.map((line) => {
    const message = syslogMessage(line);
    return `${Buffer.byteLength(message)} ${message}`;
  });
  return Buffer.from(frames.join(""));
}

interface Sending {
  readonly lines: readonly ForwardedLine[];
  readonly address: Address;
  readonly secureContext: SecureContext;
  readonly signal: AbortSignal;
}

/** Time beyond two ways there and back, in which a receiver that takes nothing shows that it has closed. */
const SETTLE_MS = 50;

/**
 * Resolves when the receiver has closed the connection after this side, which syslog has in the place of an
 * answer. One that closes with lines that it has not read resets the connection, and one that has closed
 * before the lines came is seen before this side closes.
 */
export async function sendSyslog(
  { host, port }: LogReceiver,
  { lines, address: { address }, secureContext, signal }: Sending,
): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const named = isIP(host) === 0 ? { servername: host } : {};
  const startMs = performance.now();
  let roundTripMs = 0;
  const socket = connect({ host: address, port, secureContext, ...named });
  const stop = () => socket.destroy(new ForwardFault("It does not take the lines in time."));
  signal.addEventListener("abort", stop, { once: true });
  socket.once("error", reject);
  socket.once("connect", () => (roundTripMs = performance.now() - startMs));
  let isEnded = false;
  const end = () => {
    isEnded = true;
    socket.end();
  };
  socket.once("secureConnect", () =>
    socket.write(syslogFrames(lines), () => setTimeout(end, 2 * roundTripMs + SETTLE_MS)),
  );
  socket.once("end", () => {
    if (isEnded) resolve();
    else reject(new ForwardFault("It closes the connection before it has all lines."));
  });
  socket.once("close", () => reject(new ForwardFault("It breaks off the connection.")));
  // Its words are of no interest, and are not kept.
  socket.resume();
  if (signal.aborted) stop();
  try {
    await promise;
  } finally {
    signal.removeEventListener("abort", stop);
    socket.destroy();
  }
}
