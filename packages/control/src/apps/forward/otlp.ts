// OTLP over HTTP, as JSON: https://opentelemetry.io/docs/specs/otlp/#otlphttp

import { once } from "node:events";
import { request as plainRequest, type IncomingMessage } from "node:http";
import { request as secureRequest } from "node:https";
import { connect, isIP } from "node:net";
import { connect as connectTls, type SecureContext } from "node:tls";
import type { LogLevel } from "@skerry/contract/apps/app-logs";
import type { ForwardedLine } from "./forwarded-line.ts";
import type { LogReceiver } from "./log-receiver.ts";
import { ForwardFault, type Address } from "./reachable-address.ts";

const severities: Readonly<Record<LogLevel, number>> = { debug: 5, info: 9, warn: 13, error: 17 };
const NS_PER_MS = 1_000_000n;
/** Part of an answer that is read. */
const ANSWER_MAX_BYTES = 64 * 1024;
const RETRY_AFTER_MAX_S = 300;

const attribute = (key: string, stringValue: string) => ({ key, value: { stringValue } });

/** One resource for each instance. */
export function otlpBody(lines: readonly ForwardedLine[], nowMs = Date.now()): object {
  const byInstance = Map.groupBy(lines, ({ machine }) => machine);
  return {
    resourceLogs: [...byInstance.values()].flatMap((own) => {
      const [first] = own;
      return first === undefined ? [] : [resourceLogs(first, own, nowMs)];
    }),
  };
}

function resourceLogs(
  { app, group, instance, machine, release }: ForwardedLine,
  lines: readonly ForwardedLine[],
  nowMs: number,
): object {
  return {
    resource: {
      attributes: [
        attribute("service.name", app.name),
        attribute("service.version", String(release)),
        attribute("service.instance.id", machine),
        attribute("skerry.app.id", app.id),
        attribute("skerry.group", group),
        attribute("skerry.instance", instance),
      ],
    },
    scopeLogs: [{ scope: { name: "skerry" }, logRecords: lines.map((line) => logRecord(line, nowMs)) }],
  };
}

function logRecord({ atMs, level, line }: ForwardedLine, nowMs: number): object {
  return {
    ...(atMs === 0 ? {} : { timeUnixNano: nanoseconds(atMs) }),
    observedTimeUnixNano: nanoseconds(nowMs),
    ...(level === null ? {} : { severityNumber: severities[level], severityText: level.toUpperCase() }),
    body: { stringValue: line },
  };
}

function nanoseconds(ms: number): string {
  return String(BigInt(Math.floor(ms)) * NS_PER_MS);
}

interface Sending {
  readonly lines: readonly ForwardedLine[];
  readonly address: Address;
  readonly secureContext: SecureContext;
  readonly header: readonly [name: string, value: string] | undefined;
  readonly signal: AbortSignal;
}

/** Resolves when the receiver has taken the lines. A redirect is a fault: it is not followed. */
export async function sendOtlp(receiver: LogReceiver, { lines, header, ...sending }: Sending): Promise<void> {
  const { signal } = sending;
  const body = JSON.stringify(otlpBody(lines));
  const headers = { "content-type": "application/json", "content-length": String(Buffer.byteLength(body)) };
  try {
    const answer = await asked(receiver, { ...sending, body, headers: { ...headers, ...headerOf(header) } });
    await drained(answer);
    refuse(answer);
  } catch (error) {
    if (signal.aborted) throw new ForwardFault("It does not answer in time.", { cause: error });
    throw error;
  }
}

function headerOf(header: Sending["header"]): Record<string, string> {
  return header === undefined ? {} : { [header[0]]: header[1] };
}

interface Asking extends Omit<Sending, "lines" | "header"> {
  readonly body: string;
  readonly headers: Record<string, string>;
}

/** The connection goes to the address that was checked, whatever the name means by now. */
async function asked(
  { host, port, path, isTls }: LogReceiver,
  { address: { address }, secureContext, headers, body, signal }: Asking,
): Promise<IncomingMessage> {
  const named = isIP(host) === 0 ? { servername: host } : {};
  const createConnection = () =>
    isTls ? connectTls({ host: address, port, secureContext, ...named }) : connect(port, address);
  const options = { host, port, path, method: "POST", headers, signal, createConnection };
  const request = isTls ? secureRequest(options) : plainRequest(options);
  request.end(body);
  const [answer] = (await once(request, "response")) as [IncomingMessage];
  // The answer tells of what comes after it.
  request.on("error", () => undefined);
  return answer;
}

async function drained(answer: IncomingMessage): Promise<void> {
  let bytes = 0;
  for await (const chunk of answer as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > ANSWER_MAX_BYTES) return;
  }
}

function refuse({ statusCode = 0, headers }: IncomingMessage): void {
  if (statusCode >= 200 && statusCode < 300) return;
  const seconds = Number(headers["retry-after"] ?? "0");
  const isGiven = seconds > 0 && Number.isFinite(seconds);
  throw new ForwardFault(`It answers ${statusCode}.`, {
    ...(isGiven && { retryAfterMs: Math.min(seconds, RETRY_AFTER_MAX_S) * 1_000 }),
  });
}
