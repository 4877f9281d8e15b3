// A creation that Ctrl-C takes back. The server goes on with one whose client has left, so its answer is waited for, and what it made is
// destroyed.

import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { SkerryApiError, type CreateOptions } from "@skerry/sdk";
import type { Cli } from "../../cli.ts";
import { CliError, failureOf, InterruptedError } from "../../errors/errors.ts";
import type { VmNoun } from "./vm-noun.ts";

export interface InterruptibleCreation<Created> {
  readonly noun: VmNoun["noun"];
  /** Why it may take long. */
  readonly hint: string;
  readonly create: (options: CreateOptions) => Promise<Created>;
  /** Prints what was created. */
  readonly tell: (created: Created) => Promise<void>;
  readonly destroy: (id: string, options: { readonly signal: AbortSignal }) => Promise<void>;
}

/** Creates and tells. The first Ctrl-C or SIGTERM destroys what comes of it; the second leaves at once, and says how to find it. */
export async function createInterruptibly<Created extends { readonly id: string }>(
  cli: Cli,
  creation: InterruptibleCreation<Created>,
): Promise<void> {
  const { noun, create, tell } = creation;
  const key = randomUUID();
  using interrupts = new Interrupts();
  const creating = onceTemplateIsMade(cli, interrupts, () =>
    create({ idempotencyKey: key, signal: interrupts.second }),
  );
  // Awaited below, where it may have failed already.
  creating.catch(() => undefined);
  await cli.waits.during(`Creating a ${noun}`, () => Promise.race([creating, interrupts.first]), {
    hint: creation.hint,
  });
  if (interrupts.interrupted === undefined) await tell(await creating);
  if (interrupts.interrupted === undefined) return;
  await cli.output.note(
    `Interrupted: waiting for the ${noun} to be created, to destroy it. Once more leaves at once.`,
  );
  const created = await creating.catch((error: unknown) => {
    if (interrupts.second.aborted || isUnanswered(error)) throw leftBehind(noun, key, interrupts.exitCode);
    // It was refused or has failed, and nothing is left of it.
    throw interrupts.interrupted;
  });
  await destroy(cli, creation, { id: created.id, interrupts });
  throw interrupts.interrupted;
}

/**
 * Asks again while a host makes the image of the template. The host ends a making that hangs, and then
 * answers why it failed.
 */
async function onceTemplateIsMade<Created>(
  cli: Cli,
  interrupts: Interrupts,
  create: () => Promise<Created>,
): Promise<Created> {
  for (;;) {
    try {
      return await create();
    } catch (error) {
      const isBeingMade = error instanceof SkerryApiError && error.context?.["state"] === "building";
      if (!isBeingMade || error.code !== "template_not_ready") throw error;
      cli.waits.tell(error.message);
      await pause(error.retryAfterS ?? AGAIN_S, interrupts.first);
      // Nothing was made.
      if (interrupts.interrupted !== undefined) throw error;
    }
  }
}

const AGAIN_S = 5;

/** Ends sooner with `end`, and leaves no timer that would keep the process alive. */
async function pause(seconds: number, end: Promise<void>): Promise<void> {
  const over = new AbortController();
  const slept = sleep(seconds * 1_000, undefined, { signal: over.signal }).catch(() => undefined);
  await Promise.race([slept, end]);
  over.abort();
}

async function destroy<Created>(
  cli: Cli,
  creation: InterruptibleCreation<Created>,
  { id, interrupts }: { readonly id: string; readonly interrupts: Interrupts },
): Promise<void> {
  const { noun } = creation;
  try {
    await creation.destroy(id, { signal: interrupts.second });
  } catch (error) {
    const why = interrupts.second.aborted ? "Left at once" : failureOf(error).message;
    throw new CliError("left_behind", `The ${noun} ${id} was created and not destroyed. ${why}`, {
      remediation: `skerry ${noun} destroy ${id}`,
      exitCode: interrupts.exitCode,
    });
  }
  await cli.output.note(`${id} was created and is destroyed again.`);
}

/** Whether the server has done what it was asked for is not known. */
function isUnanswered(error: unknown): boolean {
  return failureOf(error).code === "connection_failed";
}

function leftBehind(noun: string, key: string, exitCode: number): CliError {
  return new CliError(
    "left_behind",
    `The ${noun} may be created all the same. Its Idempotency-Key is ${key}.`,
    {
      remediation: `\`skerry ${noun} list\` shows whether it is there.`,
      exitCode,
    },
  );
}

/** What the user's signals have asked for so far, while this is not disposed of. */
class Interrupts implements Disposable {
  interrupted: InterruptedError | undefined;
  #resolveFirst: () => void = () => undefined;
  /** Resolves at the first one. (Node 20 has no `Promise.withResolvers`.) */
  readonly first = new Promise<void>((resolve) => (this.#resolveFirst = resolve));
  readonly #second = new AbortController();

  constructor() {
    process.on("SIGINT", this.#onSignal).on("SIGTERM", this.#onSignal);
  }

  /** Aborts at the second one. */
  get second(): AbortSignal {
    return this.#second.signal;
  }

  /** Of the first one. */
  get exitCode(): number {
    return this.interrupted?.exitCode ?? 0;
  }

  [Symbol.dispose](): void {
    process.off("SIGINT", this.#onSignal).off("SIGTERM", this.#onSignal);
  }

  readonly #onSignal = (name: NodeJS.Signals): void => {
    if (this.interrupted !== undefined) return this.#second.abort(this.interrupted);
    this.interrupted = new InterruptedError(name === "SIGTERM" ? "SIGTERM" : "SIGINT");
    this.#resolveFirst();
  };
}
