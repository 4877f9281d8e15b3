// The key of a step: what is the same for two steps that leave the same disk. A cache of results asks by it.

import { createHash } from "node:crypto";
import type { PlannedStep } from "./build-plan.ts";

/** A digest in hexadecimal digits of each file of a context, by its path. Of a link, that of where it leads to; permissions are part of each. */
export type ContextDigests = Readonly<Record<string, string>>;

interface KeyParts {
  /** Of the image or the step before, by content. */
  readonly parent: string;
  /** Of the builder's template, by content. */
  readonly builder: string;
  readonly context: ContextDigests;
}

/** 64 hexadecimal digits. What a step does not see is no part of it: a file that it does not copy, how it is called. */
export function stepKey(step: PlannedStep, { parent, builder, context }: KeyParts): string {
  const seen = Object.entries(step.env).toSorted(byFirst);
  const files = Object.entries(context)
    .filter(([path]) => step.inputs.some((input) => isBelow(path, input)))
    .toSorted(byFirst);
  // JSON keeps apart what a mere concatenation would run together.
  const text = JSON.stringify([parent, builder, step.kind, step.command, seen, files]);
  return createHash("sha256").update(text).digest("hex");
}

function isBelow(path: string, input: string): boolean {
  return input === "." || path === input || path.startsWith(`${input}/`);
}

function byFirst([one]: readonly [string, string], [other]: readonly [string, string]): number {
  return one < other ? -1 : one > other ? 1 : 0;
}
