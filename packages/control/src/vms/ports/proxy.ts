// A request of a client, led to what listens on a port of a guest, and its answer led back. Neither body is held: each is read as fast as the
// other side takes it.

import { request as httpRequest, type ClientRequest, type IncomingMessage } from "node:http";
import { finished, type Duplex } from "node:stream";
import { pipeline } from "node:stream/promises";
import { SkerryError } from "@skerry/contract/errors";
import { PortConnectionLost } from "../../host-client/port-connection.ts";
import { stateOf } from "../../context.ts";
import type { CountedRequest, CountedResponse } from "../../http/counted-request.ts";
import { upgradeRaw } from "../../http/upgrades.ts";
import { PortAgent, type PortTarget } from "./port-agent.ts";
import {
  fieldsAtOwnOrigin,
  fieldsForClient,
  fieldsOf,
  fieldsOfWebSocket,
  nonsense,
  ofOurAnswers,
  type Field,
} from "./port-headers.ts";
import { fieldsForGuest, type ClientFacts } from "./fields-for-guest.ts";

export interface ProxyLimits {
  /** From the end of a request, or its last byte so far, to the head of the answer. */
  readonly headMs: number;
}

export const proxyLimits: ProxyLimits = { headMs: 120_000 };

const ANSWER_HEAD_MAX_BYTES = 32 * 1024;

export interface Proxied {
  readonly request: CountedRequest;
  readonly response: CountedResponse;
  readonly target: PortTarget;
  readonly port: number;
  readonly guestUrl: string;
  /** By its URL. */
  readonly isSigned: boolean;
  readonly client: ClientFacts;
  readonly isWebSocket: boolean;
  readonly gone: AbortSignal;
  readonly limits: ProxyLimits;
  readonly kept: PortAgent;
  /** Called before the first byte of the answer goes out; from then on nothing can be refused any more. */
  readonly answering: () => void;
}

/** Connections that are kept for the next request. */
export const keptConnectionsOf = stateOf(() => new PortAgent({ keepAlive: true }));
const single = new PortAgent({ keepAlive: false });

/** What may be sent a second time when a kept connection turns out to have ended. */
const REPEATABLE = new Set(["GET", "HEAD", "OPTIONS"]);

/** Resolves when both bodies have ended. Throws a `SkerryError` while the client can still be told. */
export async function proxy(proxied: Proxied): Promise<void> {
  const isRepeatable = REPEATABLE.has(proxied.request.method ?? "") && !hasBody(proxied.request);
  const first = send(proxied, isRepeatable && !proxied.isWebSocket ? proxied.kept : single);
  const answer = await answerOf(first, proxied).catch((error: unknown) => {
    if (first.reusedSocket && isLost(error)) return answerOf(send(proxied, single), proxied);
    throw error;
  });
  if (answer.socket === undefined) await passAnswer(proxied, answer.message);
  else await passWebSocket(proxied, answer.message, answer.socket);
}

/** The connection had ended when the request came. */
function isLost(error: unknown): boolean {
  return error instanceof PortConnectionLost || (error as { code?: unknown }).code === "ECONNRESET";
}

interface Answer {
  readonly message: IncomingMessage;
  /** Of an accepted upgrade. */
  readonly socket: Duplex | undefined;
}

function send({ request, target, port, guestUrl, client, isWebSocket }: Proxied, agent: PortAgent) {
  const fields = fieldsForGuest(fieldsOf(request.rawHeaders), port, client);
  const framed = isWebSocket ? webSocketFields : bodyFields(request);
  return httpRequest({
    ...target,
    agent,
    method: request.method ?? "GET",
    path: guestUrl,
    // As they came: in this order, and as often.
    headers: [...fields, ...framed].flat(),
    setHost: false,
    maxHeaderSize: ANSWER_HEAD_MAX_BYTES,
    insecureHTTPParser: false,
  });
}

const webSocketFields: readonly Field[] = [
  ["Connection", "Upgrade"],
  ["Upgrade", "websocket"],
];

function hasBody({ headers }: CountedRequest): boolean {
  return headers["transfer-encoding"] !== undefined || Number(headers["content-length"] ?? 0) > 0;
}

/** How long the body is, said once and by us: what the client has said of it is not passed. */
function bodyFields({ headers, method }: CountedRequest): readonly Field[] {
  if (headers["transfer-encoding"] !== undefined) return [["Transfer-Encoding", "chunked"]];
  const length = headers["content-length"] ?? (REPEATABLE.has(method ?? "") ? undefined : "0");
  return length === undefined ? [] : [["Content-Length", length]];
}

/** The head of the answer. */
async function answerOf(
  sent: ClientRequest,
  { request, isWebSocket, gone, limits }: Proxied,
): Promise<Answer> {
  const { promise, resolve, reject } = Promise.withResolvers<Answer>();
  sent.maxHeadersCount = 0; // none is dropped in silence: port-headers.ts refuses too many
  sent.once("response", (message) => resolve({ message, socket: undefined }));
  sent.once("upgrade", (message, socket: Duplex, head: Buffer) => {
    if (!isWebSocket) {
      socket.destroy();
      return reject(nonsense("is an upgrade that the request has not asked for"));
    }
    if (head.length > 0) socket.unshift(head);
    resolve({ message, socket });
  });
  sent.on("error", reject);
  // Not before the connection is there, so that a request whose guest has moved can be sent again.
  const silence = setTimeout(() => sent.destroy(silent(limits.headMs)), limits.headMs);
  const onPiece = () => void silence.refresh();
  if (!hasBody(request)) sent.end();
  else sent.once("socket", () => request.on("data", onPiece).pipe(sent));
  const onGone = () => sent.destroy(gone.reason as Error);
  gone.addEventListener("abort", onGone, { once: true });
  if (gone.aborted) onGone();
  try {
    return await promise;
  } catch (error) {
    request.unpipe(sent);
    throw answerError(error);
  } finally {
    request.off("data", onPiece);
    clearTimeout(silence);
    gone.removeEventListener("abort", onGone);
  }
}

function silent(ms: number): SkerryError {
  return new SkerryError(
    "guest_timeout",
    `What listens on the port did not begin to answer within ${ms / 1_000} s.`,
    { remediation: "See why it takes so long, or have it answer at once and go on with its work." },
  );
}

/** A parser's complaint is one about the guest. Where the connection has ended, the guest has ended it. */
function answerError(error: unknown): unknown {
  if (error instanceof SkerryError) return error;
  const { code } = error as { code?: unknown };
  if (typeof code === "string" && code.startsWith("HPE_HEADER_OVERFLOW"))
    return nonsense(`has a head of more than ${ANSWER_HEAD_MAX_BYTES / 1024} KiB`, error);
  if (typeof code === "string" && code.startsWith("HPE_")) return nonsense("cannot be read", error);
  return error;
}

function endedEarly(cause: unknown): SkerryError {
  return new SkerryError(
    "guest_failed",
    "What listens on the port closed the connection without an answer.",
    {
      remediation: "See what its log says.",
      cause,
    },
  );
}

/** What the client has not been told otherwise. */
export function proxyError(error: unknown): unknown {
  return error instanceof SkerryError ? error : endedEarly(error);
}

/** Statuses whose answers end with their head. The length in an answer to HEAD is that of GET, which clients ask it for. */
const BODILESS: ReadonlySet<number> = new Set([204, 304]);

/** Refuses what ends no request, or is no status at all, while the client can still be told. */
function finalStatus({ statusCode = 0 }: IncomingMessage): number {
  if (statusCode < 200 || statusCode > 599) throw nonsense(`has the status ${statusCode}`);
  return statusCode;
}

async function passAnswer(proxied: Proxied, answer: IncomingMessage): Promise<void> {
  const { response, gone, answering } = proxied;
  try {
    const status = finalStatus(answer);
    const isOwnOrigin = proxied.client.prefix === undefined;
    const came = fieldsOf(answer.rawHeaders);
    const fields = isOwnOrigin ? fieldsAtOwnOrigin(came, proxied.isSigned) : fieldsForClient(came);
    // A client that believed it would wait for a body, or take the next answer for one.
    if (BODILESS.has(status)) delete fields["content-length"];
    answering();
    if (isOwnOrigin) for (const name of ofOurAnswers) response.removeHeader(name);
    response.writeHead(status, fields);
  } catch (error) {
    answer.destroy();
    throw error instanceof SkerryError ? error : nonsense("has a broken header field", error);
  }
  // An event stream may have nothing to say for a while after its head.
  response.flushHeaders();
  try {
    await pipeline(answer, response, { signal: gone });
  } catch {
    // A client must not take a part of an answer for all of it.
    response.destroy();
  }
}

async function passWebSocket(
  { request, gone, answering }: Proxied,
  answer: IncomingMessage,
  guest: Duplex,
): Promise<void> {
  const fields = fieldsOfWebSocket(fieldsOf(answer.rawHeaders));
  answering();
  await joined(upgradeRaw(request, fields), guest, gone);
}

/** What is on its way when one side has ended may still arrive. */
const LAST_BYTES_MS = 1_000;

/** Both ways, until one of them is gone. A WebSocket of which one direction has ended is over. */
async function joined(client: Duplex, guest: Duplex, gone: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const end = () => {
    client.destroy();
    guest.destroy();
    resolve();
  };
  for (const side of [client, guest]) {
    side.on("error", () => undefined);
    finished(side, end);
    side.once("end", () => setTimeout(end, LAST_BYTES_MS).unref());
  }
  gone.addEventListener("abort", end, { once: true });
  if (gone.aborted) end();
  client.pipe(guest);
  guest.pipe(client);
  await promise;
  gone.removeEventListener("abort", end);
}
