// One health check of a guest, which may be hostile: it has a time, a number of bytes and one stream. Nothing
// that the guest says gets into the verdict but a status: a reason is a text of ours.

import { setTimeout as sleep } from "node:timers/promises";
import { SkerryError } from "@skerry/contract/errors";
import type { GuestOperation } from "@skerry/contract/guest-api/guest-operations";
import type { HostCheck } from "@skerry/contract/host-api/checks";
import { exitOf, streamError } from "../../guest/agent.ts";
import type { GuestChannel } from "../../guest/channel.ts";
import type { GuestStream } from "../../guest/stream.ts";

/** Why it failed; undefined where it passed. */
export type Verdict = string | undefined;

export interface CheckRun {
  /** Never rejects. */
  readonly verdict: Promise<Verdict>;
  /** Resolves when nothing of the check is left in the guest, as far as its agent says. */
  readonly over: Promise<void>;
}

/**
 * `abort`: ends it, whatever its verdict. The guest's agent is not taken for dead where it does not answer: a
 * check that is on its way for too long has failed.
 */
export function runCheck(channel: GuestChannel, check: HostCheck, abort: AbortSignal): CheckRun {
  const stream = channel.open(operationOf(check));
  const over = stream.result().then(
    () => undefined,
    () => undefined,
  );
  return { verdict: decide(stream, check, abort), over };
}

function operationOf({ http, tcp = http, command = "", timeout_ms }: HostCheck): GuestOperation {
  if (tcp !== undefined) return { op: "connect", port: tcp.port };
  return { op: "execute", command, env: {}, timeout_ms, stdin: false, output_limit: OUTPUT_BYTES };
}

/** Its output is dropped, and so is what comes beyond this. */
const OUTPUT_BYTES = 4_096;

async function decide(stream: GuestStream, check: HostCheck, abort: AbortSignal): Promise<Verdict> {
  const late = Promise.withResolvers<Verdict>();
  const timer = setTimeout(() => late.resolve(`timed out after ${check.timeout_ms} ms`), check.timeout_ms);
  const onAbort = (): void => late.resolve("it was broken off");
  abort.addEventListener("abort", onAbort, { once: true });
  if (abort.aborted) onAbort();
  const work = workOf(stream, check);
  try {
    return await Promise.race([work.catch(reasonOf), late.promise]);
  } finally {
    clearTimeout(timer);
    abort.removeEventListener("abort", onAbort);
    stream.cancel();
  }
}

function workOf(stream: GuestStream, { http, tcp }: HostCheck): Promise<Verdict> {
  if (http !== undefined) return response(stream, http.path);
  return tcp === undefined ? exit(stream) : connected(stream);
}

async function connected(stream: GuestStream): Promise<undefined> {
  if ((await stream.head()) === undefined) await stream.result();
}

async function exit(stream: GuestStream): Promise<Verdict> {
  let bytes = 0;
  for (let piece = await stream.read(); piece !== undefined; piece = await stream.read()) {
    // A guest need not keep to the limit that it was told.
    bytes += piece.bytes.length;
    if (bytes > 2 * OUTPUT_BYTES) return "the command printed more than its limit";
  }
  const { exit_code: code, timed_out: isLate } = await exitOf(stream);
  if (isLate) return "the command did not end in time";
  return code === 0 ? undefined : `the command exited with ${code}`;
}

/** A status line is shorter, and what follows it is not read. */
const LINE_MAX_BYTES = 1_024;
const STATUS_LINE = /^HTTP\/1\.[01] ([1-5]\d\d)(?: [^\n]*)?\r?\n/;

async function response(stream: GuestStream, path: string): Promise<Verdict> {
  await connected(stream);
  const head = `GET ${path} HTTP/1.1\r\nHost: localhost\r\nUser-Agent: Skerry-Health-Check\r\nAccept: */*\r\nConnection: close\r\n\r\n`;
  await stream.write(Buffer.from(head, "latin1"));
  let line = "";
  while (line.length < LINE_MAX_BYTES && !line.includes("\n")) {
    const piece = await stream.read();
    if (piece === undefined) break;
    line += piece.bytes.subarray(0, LINE_MAX_BYTES).toString("latin1");
  }
  const status = Number(STATUS_LINE.exec(line)?.[1] ?? 0);
  await Promise.race([drained(stream), sleep(DRAIN_MS, undefined, { ref: false })]);
  if (status === 0) return "the answer is not HTTP";
  return status >= 200 && status <= 399 ? undefined : `HTTP ${status}`;
}

const DRAIN_MS = 250;
const DRAIN_MAX_BYTES = 64 * 1024;

/**
 * Reads the rest of an answer: a server that still writes it would find its connection reset. Never rejects.
 */
async function drained(stream: GuestStream): Promise<void> {
  let bytes = 0;
  try {
    for (let piece = await stream.read(); piece !== undefined; piece = await stream.read()) {
      bytes += piece.bytes.length;
      if (bytes > DRAIN_MAX_BYTES) return;
    }
  } catch {
    // The status was read, and says all that the check is about.
  }
}

/** The texts of errors of a guest are its own, except for those that mean one thing. */
function reasonOf(error: unknown): Verdict {
  const told = streamError(error);
  if (told instanceof SkerryError && told.code === "port_not_listening") return "nothing listens on the port";
  return "the guest's agent refused the check";
}
