// An operation of a published client, and what came of trying it. The tables of operations are made of these, and the page of what came of them.

import { stripVTControlCharacters } from "node:util";

export interface Operation<Context> {
  /** Heading of its table, such as `Sandbox`. */
  readonly area: string;
  readonly name: string;
  /** Public methods that it tries, as `declared-methods.ts` names them. */
  readonly covers: readonly string[];
  /** Throws unless the operation did what the client's documentation says. */
  attempt(context: Context): Promise<void>;
}

/** A public method without an operation, and why. */
export type NotTried = Readonly<Record<string, string>>;

/** One operation in the versions of a family, in their order. */
export interface Row {
  readonly area: string;
  readonly name: string;
  readonly cells: readonly string[];
}

/** Against an operation that hangs: it is told as failed, and the next one is tried. */
const ATTEMPT_WITHIN_MS = 900_000;
const TOLD_CHARACTERS = 160;
const IN_WORDS = /is not taken here/;
const REFUSALS = /\b(400|501)[\]:]? (.*)/;

/** What an operation throws that this version of the client does not have. */
export class NotInVersion extends Error {}

/** `works`, `refused: 501 …` where the server answered so, and otherwise `fails: …`. */
export async function cellOf<Context>(operation: Operation<Context>, context: Context): Promise<string> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error("no answer in time")), ATTEMPT_WITHIN_MS);
  });
  try {
    await Promise.race([operation.attempt(context), late]);
    return "works";
  } catch (error) {
    return verdictOf(error);
  } finally {
    clearTimeout(timer);
  }
}

/** The same words in each run: what a run has given its names to is left out of them. */
export function verdictOf(error: unknown): string {
  if (error instanceof NotInVersion) return "not in this version";
  const said = stripVTControlCharacters(error instanceof Error ? error.message : String(error));
  const [line = ""] = said
    .split("\n")
    .map((each) => each.trim())
    .filter((each) => each !== "");
  const text = line
    .replaceAll(/\b(sbx|snp|bld|req|org|tok)_[a-z0-9]+/g, "$1_…")
    // An id as E2B's clients have it.
    .replaceAll(/\b01[0-9a-hjkmnp-tv-z]{24}\b/g, "…")
    .replaceAll(/[0-9a-f]{8}-[0-9a-f-]{27}/g, "…")
    .replaceAll("|", "\\|");
  const [, status, why] = REFUSALS.exec(text) ?? [];
  const failed = IN_WORDS.test(text) ? `refused: ${text}` : `fails: ${text}`;
  const verdict = status === undefined ? failed : `refused: ${status} ${why}`;
  return verdict.length <= TOLD_CHARACTERS ? verdict : `${verdict.slice(0, TOLD_CHARACTERS - 1)}…`;
}

/** Throws with both values, in words that each run repeats. */
export function same(actual: unknown, expected: unknown): void {
  const [got, wanted] = [JSON.stringify(actual), JSON.stringify(expected)];
  if (got !== wanted) throw new Error(`${got} in place of ${wanted}`);
}

export function holds(condition: boolean, what: string): void {
  if (!condition) throw new Error(`it does not hold that ${what}`);
}

/** Throws unless the attempt was answered with this class of the client's errors. */
export async function throwsA(
  kind: abstract new (...args: never[]) => Error,
  attempt: () => Promise<unknown>,
): Promise<void> {
  const thrown = await attempt().then(
    () => undefined,
    (error: unknown) => error,
  );
  if (!(thrown instanceof kind))
    throw new Error(`${thrown instanceof Error ? thrown.name : "nothing"} in place of ${kind.name}`);
}
