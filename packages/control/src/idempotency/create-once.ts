// A creation that may be asked for again. The ledger knows each Idempotency-Key by one of these:
//
//   claimed    an attempt works on it, and has written nothing yet; when it is silent for too long, the next one takes over
//   resource   written in the transaction that writes the resource, which from then on says how far the attempt has come
//   answered   the answer that everybody gets who sends the same request with the same key
//
// Only what was created is kept. An attempt that failed gives the key back, so that sending the request again is worth it.

import { createHash } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { SkerryError } from "@skerry/contract/errors";
import { newId } from "@skerry/contract/ids";
import { insertAuditEvents, type NewAuditEvent } from "../audit/insert-audit-events.ts";
import type { Queries } from "../db/database.ts";
import {
  claimIdempotencyKey,
  findKey,
  keepAnswer,
  keepAnswerAfterwards,
  nameResource,
  releaseKey,
  takeOverKey,
  type Claim,
  type LedgerEntry,
} from "./idempotency-key-store.ts";
import type { Caller } from "../caller.ts";
import type { Context } from "../context.ts";
import { open, seal } from "./seal.ts";

const FIRST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 500;
const RETRY_AFTER_S = 2;

/** A request that named itself. */
export interface KeyedRequest {
  readonly key: string;
  /** Method and path. */
  readonly target: string;
  readonly body: unknown;
  /** Secret of the token that it came with. */
  readonly secret: string;
  /** The caller went away and waits no more. */
  readonly gone: AbortSignal;
}

/** What became of a resource whose attempt gave no answer. */
export type Outcome<Answer> =
  | { readonly kind: "ready"; readonly answer: Answer }
  | { readonly kind: "pending" }
  /** It never was usable, and never will be. */
  | { readonly kind: "nothing" };

export interface Creation<Answer> {
  create(attempt: Attempt): Promise<Answer>;
  /** For creations that use `attempt.begun`. */
  outcome?(resourceId: string): Promise<Outcome<Answer>>;
  /** The answer as this caller gets it, with what is not to be kept. */
  shown?(answer: Answer): Answer;
}

/** The hold that a creation has on its key. Without a key there is nothing to hold, and everything succeeds. */
export class Attempt {
  readonly #holder: Holder | undefined;
  readonly #event: CreationEvent;
  /** Whether the creation has said what it wrote. */
  isRecorded = false;

  constructor(holder: Holder | undefined, event: CreationEvent) {
    this.#holder = holder;
    this.#event = event;
  }

  /** In the transaction that writes a resource which still has to become usable. */
  async begun(transaction: Queries, resourceId: string): Promise<void> {
    this.isRecorded = true;
    if (this.#holder === undefined) return;
    if (!(await nameResource(transaction, this.#holder.claim, resourceId))) throw inProgress();
  }

  /** For the statement that makes a resource usable which has `begun`: it writes this event too. Without it the event is written when all
   *  is done, and the answer waits once more. */
  ready(resource: Created): NewAuditEvent | undefined {
    return this.#event(resource);
  }

  /** In the transaction that writes a resource which is usable when it commits. */
  async done(transaction: Queries, answer: Created): Promise<void> {
    this.isRecorded = true;
    if (this.#holder !== undefined && !(await keep(transaction, this.#holder, answer))) throw inProgress();
    const event = this.#event(answer);
    if (event !== undefined) await insertAuditEvents(transaction, [event]);
  }
}

/** A resource, or its answer: what its id is read from. A member has no id but that of its user. */
export type Created = { readonly id: string } | { readonly user_id: string };

/** The event of a creation, which goes where the creation becomes true. Undefined where it leaves none. */
type CreationEvent = (created: Created) => NewAuditEvent | undefined;

/** A claim, and whose answer it will be. */
interface Holder {
  readonly claim: Claim;
  readonly caller: Caller;
  readonly secret: string;
}

/** Does the work once for each key, however often it is asked for. */
export async function createOnce<Answer>(
  context: Context,
  asked: {
    readonly caller: Caller;
    readonly request: KeyedRequest | undefined;
    readonly event: CreationEvent;
    /** Told of the answer while it is kept. */
    readonly answered: (answer: Answer) => Promise<void>;
  },
  creation: Creation<Answer>,
): Promise<{ readonly answer: Answer; readonly isReplayed: boolean }> {
  const { caller, request, event } = asked;
  if (request === undefined) {
    return { answer: await attempted(creation, new Attempt(undefined, event)), isReplayed: false };
  }
  const holder = { claim: newClaim(caller, request), caller, secret: request.secret };
  const known = await claimOrAnswer(context, { holder, gone: request.gone }, creation);
  if (known !== undefined) return { answer: known.answer, isReplayed: true };
  try {
    const answer = await attempted(creation, new Attempt(holder, event));
    // Waited for, because the next request may change what the resource would tell. Where it fails the resource tells the next attempt all
    // the same; the caller has what was asked for.
    const kept = keepAnswerAfterwards(context.db, holder.claim, sealed(holder, answer)).catch(
      (error: unknown) => {
        context.log.warn({ err: error }, "could not keep the answer to an idempotent request");
      },
    );
    await Promise.all([kept, asked.answered(answer)]);
    return { answer, isReplayed: false };
  } catch (error) {
    await releaseKey(context.db, holder.claim).catch((cause: unknown) => {
      context.log.warn({ err: cause }, "could not give an idempotency key back; it lapses by itself");
    });
    throw error;
  }
}

async function attempted<Answer>(creation: Creation<Answer>, attempt: Attempt): Promise<Answer> {
  const answer = await creation.create(attempt);
  if (!attempt.isRecorded) throw new Error("a creation has not told its attempt what it wrote");
  return answer;
}

function newClaim(caller: Caller, request: KeyedRequest): Claim {
  return {
    orgId: caller.orgId,
    userId: caller.userId,
    key: request.key,
    attemptId: newId("attempt"),
    fingerprint: createHash("sha256")
      .update(JSON.stringify([request.target, sorted(request.body)]))
      .digest(),
  };
}

/** Undefined: the key is ours, and so is the work. */
async function claimOrAnswer<Answer>(
  context: Context,
  { holder, gone }: { readonly holder: Holder; readonly gone: AbortSignal },
  creation: Creation<Answer>,
): Promise<{ readonly answer: Answer } | undefined> {
  const deadline = performance.now() + context.limits.idempotencyWaitMs;
  for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS)) {
    if (await claimIdempotencyKey(context.db, holder.claim)) return undefined;
    const entry = await findKey(context.db, holder.claim);
    // Undefined: given back between the two statements.
    if (entry !== undefined) {
      const verdict = await judge(context, { holder, entry }, creation);
      if (verdict.kind === "ready") return verdict;
      if (verdict.kind === "nothing" && (await takeOverKey(context.db, holder.claim, entry)))
        return undefined;
    }
    if (performance.now() > deadline) throw inProgress();
    await sleep(pauseMs, undefined, { signal: gone }).catch(() => {
      throw new SkerryError("canceled", "The request was canceled.");
    });
  }
}

async function judge<Answer>(
  context: Context,
  { holder, entry }: { readonly holder: Holder; readonly entry: LedgerEntry },
  creation: Creation<Answer>,
): Promise<Outcome<Answer>> {
  if (!entry.fingerprint.equals(holder.claim.fingerprint)) throw otherRequest();
  if (entry.answer !== null) {
    if (entry.token_id !== holder.caller.tokenId) throw otherToken();
    // It was sealed as an answer of this creation: the fingerprint holds the path.
    const answer = JSON.parse(open(holder.secret, labelOf(holder.claim), entry.answer)) as Answer;
    return { kind: "ready", answer };
  }
  if (entry.resource_id === null) return { kind: entry.lapsed ? "nothing" : "pending" };
  if (creation.outcome === undefined) throw new Error("a creation with `begun` needs an `outcome`");
  const outcome = await creation.outcome(entry.resource_id);
  if (outcome.kind !== "ready") return outcome;
  // From now on it is the answer, also where the resource is gone.
  const claim = { ...holder.claim, attemptId: entry.attempt_id };
  await keep(context.db, { ...holder, claim }, outcome.answer);
  return outcome;
}

function keep(db: Queries, holder: Holder, answer: unknown): Promise<boolean> {
  return keepAnswer(db, holder.claim, sealed(holder, answer));
}

/** Only the token that asked can open it. */
function sealed({ claim, caller, secret }: Holder, answer: unknown): { answer: Buffer; tokenId: string } {
  return { answer: seal(secret, labelOf(claim), JSON.stringify(answer)), tokenId: caller.tokenId };
}

function labelOf({ orgId, userId, key }: Claim): string {
  return `${orgId} ${userId} ${key}`;
}

/** The same JSON in another order of fields is the same request. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(entries.map(([name, part]) => [name, sorted(part)]));
}

function otherRequest(): SkerryError {
  return new SkerryError("idempotency_conflict", "This `Idempotency-Key` was used for another request.", {
    remediation:
      "Use a new key for each thing that you create, and the same one only to send the same request again.",
  });
}

function otherToken(): SkerryError {
  return new SkerryError(
    "idempotency_conflict",
    "This `Idempotency-Key` was used with another token, and only that token can have its answer again.",
    { remediation: "Send the request with the token that sent it first, or with a new key." },
  );
}

function inProgress(): SkerryError {
  return new SkerryError(
    "idempotency_in_progress",
    "The first request with this `Idempotency-Key` is still being worked on.",
    { remediation: "Send the same request again with the same key.", retryAfterS: RETRY_AFTER_S },
  );
}
