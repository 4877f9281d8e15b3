// The images of built-in templates: which are there, which are being made, and when one that failed is tried
// again. A failure is kept with what the programs printed last, because control shows it to those who wait
// for the template.

import { stat } from "node:fs/promises";
import { SkerryError } from "@skerry/contract/errors";
import { TEMPLATE_FAILURE_MAX_CHARS, TEMPLATE_FAILURE_MAX_LINES } from "@skerry/contract/bounds";
import type { TemplateFailure } from "@skerry/contract/templates/template";
import { failedText } from "@skerry/contract/waits-for";
import type { Logger } from "pino";
import { RunError } from "../system/run.ts";
import type { TemplateDescription } from "./description.ts";

const RETRY_FIRST_MS = 60_000;
const RETRY_MAX_MS = 60 * 60_000;
/** The period in which clients that wait for an image are told to come again. */
const BUILDING_AGAIN_S = 15;

export type ImageState =
  /** Its image is built when it is first asked for. */
  | { readonly status: "on_demand" }
  /** `since` is null while it waits for its turn. */
  | {
      readonly status: "building";
      readonly since: Date | null;
      readonly progress: string | null;
      readonly failure: TemplateFailure | null;
    }
  | { readonly status: "ready"; readonly image: string }
  | {
      readonly status: "failed";
      readonly failure: TemplateFailure;
      /** When the next attempt begins, by `performance.now()`. */
      readonly nextMs: number;
    };

interface Entry {
  readonly description: TemplateDescription;
  state: ImageState;
  failures: number;
  /** The attempt that is under way, or waits for its turn. */
  attempt: Promise<void> | undefined;
  retry: NodeJS.Timeout | undefined;
}

export interface ImageMaking {
  /** Path of the image that is, or will be, there. */
  readonly fileOf: (description: TemplateDescription) => string;
  /** Makes it; `tell` hears how far it is. */
  readonly make: (description: TemplateDescription, tell: (progress: string) => void) => Promise<string>;
  /** Keeps it for other hosts. Does not throw. */
  readonly keep: (description: TemplateDescription, image: string) => Promise<void>;
  readonly log: Logger;
}

export class TemplateImages {
  readonly #making: ImageMaking;
  readonly #entries = new Map<string, Entry>();
  /** One after the other, because each takes a whole core. */
  #last: Promise<void> = Promise.resolve();

  private constructor(making: ImageMaking) {
    this.#making = making;
  }

  /** Those whose image exists are ready. The others wait for `make`, or for the first request. */
  static async open(
    descriptions: readonly TemplateDescription[],
    making: ImageMaking,
  ): Promise<TemplateImages> {
    const images = new TemplateImages(making);
    for (const description of descriptions) {
      const image = making.fileOf(description);
      const isThere = await stat(image).then(Boolean, () => false);
      const waits = isOnDemand(description) ? ({ status: "on_demand" } as const) : building;
      images.#entries.set(description.name, {
        ...{ description, state: isThere ? { status: "ready", image } : waits },
        ...{ failures: 0, attempt: undefined, retry: undefined },
      });
    }
    return images;
  }

  get descriptions(): TemplateDescription[] {
    return [...this.#entries.values()].map(({ description }) => description);
  }

  describe(name: string): TemplateDescription | undefined {
    return this.#entries.get(name)?.description;
  }

  stateOf(name: string): ImageState | undefined {
    return this.#entries.get(name)?.state;
  }

  /** Path of the image. Throws `template_not_ready`; one that is made on demand is then being made. */
  require(name: string): string | undefined {
    const entry = this.#entries.get(name);
    if (entry === undefined) return undefined;
    if (entry.state.status === "ready") return entry.state.image;
    if (entry.state.status === "on_demand") void this.#begin(entry);
    throw notReady(name, entry.state as Unfinished);
  }

  /**
   * Has the image made now, also where its next attempt is not due. Returns its state; undefined where there
   * is no such template.
   */
  prepare(name: string): ImageState | undefined {
    const entry = this.#entries.get(name);
    if (entry !== undefined && entry.state.status !== "ready") void this.#begin(entry);
    return entry?.state;
  }

  /** Resolves when each image that is not made on demand was made, or its first attempt failed. */
  async makeAll(): Promise<void> {
    for (const entry of this.#entries.values())
      if (entry.state.status === "building") await this.#begin(entry);
  }

  /** Resolves when what was begun has ended, and what came of it is kept for other hosts. */
  get ended(): Promise<void> {
    return this.#last;
  }

  #begin(entry: Entry): Promise<void> {
    if (entry.attempt !== undefined) return entry.attempt;
    clearTimeout(entry.retry);
    const before = entry.state.status === "failed" ? entry.state.failure : null;
    const failure = before === null ? null : { ...before, next_attempt: null };
    entry.state = { ...building, failure };
    entry.attempt = this.#last.then(() => this.#attempt(entry, failure));
    // It is ready before it is kept, so nothing that needs it waits for that.
    this.#last = entry.attempt.then(() => this.#keep(entry));
    return entry.attempt;
  }

  async #attempt(entry: Entry, failure: TemplateFailure | null): Promise<void> {
    const { make, log } = this.#making;
    const since = new Date();
    const tell = (progress: string | null): void => {
      entry.state = { status: "building", since, progress, failure };
    };
    tell(null);
    try {
      entry.state = { status: "ready", image: await make(entry.description, tell) };
      entry.failures = 0;
    } catch (error) {
      log.error({ err: error, template: entry.description.name }, "a template's image could not be built");
      this.#failed(entry, error);
    } finally {
      entry.attempt = undefined;
    }
  }

  async #keep({ description, state }: Entry): Promise<void> {
    if (state.status === "ready") await this.#making.keep(description, state.image);
  }

  #failed(entry: Entry, error: unknown): void {
    const pauseMs = Math.min(RETRY_MAX_MS, RETRY_FIRST_MS * 2 ** entry.failures);
    entry.failures += 1;
    const now = Date.now();
    const times = {
      failed_at: new Date(now).toISOString(),
      next_attempt: new Date(now + pauseMs).toISOString(),
    };
    const failure = { ...whyOf(error), ...times };
    entry.state = { status: "failed", failure, nextMs: performance.now() + pauseMs };
    entry.retry = setTimeout(() => void this.#begin(entry), pauseMs);
    // A host that stops does not wait for it.
    entry.retry.unref();
  }
}

const building = { status: "building", since: null, progress: null, failure: null } as const;

export function isOnDemand({ builds, on_demand }: TemplateDescription): boolean {
  return builds === true || on_demand === true;
}

/** Progress and last failure of an image, for answers. */
export function makingOf(state: ImageState): {
  failure: TemplateFailure | null;
  building_since: string | null;
  progress: string | null;
} {
  return {
    failure: "failure" in state ? state.failure : null,
    building_since: state.status === "building" ? (state.since?.toISOString() ?? null) : null,
    progress: state.status === "building" ? state.progress : null,
  };
}

/** The reason in a line, with the error that the programs themselves name, and what they printed last. */
function whyOf(error: unknown): Pick<TemplateFailure, "reason" | "last_lines"> {
  if (!(error instanceof RunError)) return { reason: clip(String(error)), last_lines: [] };
  const lines = error.lastLines.map(clip);
  const named = lines.findLast((line) => /^E: |\berror\b/i.test(line)) ?? lines.at(-1);
  return {
    reason: clip(named === undefined ? error.summary : `${error.summary}: ${named}`),
    last_lines: lines.slice(-TEMPLATE_FAILURE_MAX_LINES),
  };
}

/** Leaves the credentials out of a mirror's address. */
function clip(text: string): string {
  return text
    .toWellFormed()
    .replaceAll("\0", "\uFFFD")
    .replaceAll(/\/\/[^/@\s]+@/g, "//")
    .slice(0, TEMPLATE_FAILURE_MAX_CHARS);
}

type Unfinished = Extract<ImageState, { status: "building" | "failed" }>;

function notReady(name: string, state: Unfinished): SkerryError {
  const { failure } = state;
  const context = {
    ...{ field: "template", template: name, state: state.status },
    ...(failure === null
      ? {}
      : { failure: failure.reason, failed_at: failure.failed_at, next_attempt: failure.next_attempt }),
    ...(state.status === "building" && state.progress !== null ? { progress: state.progress } : {}),
  };
  if (state.status === "failed") {
    return new SkerryError("template_not_ready", `The template "${name}" ${failedText(state.failure)}.`, {
      remediation: `\`skerry template logs ${name}\` prints the last lines; \`skerry template prepare ${name}\` tries again at once.`,
      retryAfterS: untilNextS(state.nextMs),
      context,
    });
  }
  const progress = state.progress === null ? "" : `: ${state.progress}`;
  const before = failure === null ? "" : ` The attempt before ${failedText(failure)}.`;
  return new SkerryError(
    "template_not_ready",
    `The template "${name}" is being built on this host${progress}.${before}`,
    {
      remediation: `Try again until it is made; \`skerry template prepare --wait ${name}\` waits for that.`,
      ...{ retryAfterS: BUILDING_AGAIN_S, context },
    },
  );
}

function untilNextS(nextMs: number): number {
  return Math.max(BUILDING_AGAIN_S, Math.ceil((nextMs - performance.now()) / 1_000));
}
