// The key of a step: what is the same for two steps that leave the same disk. A cache of results asks by it.

import { createHash } from "node:crypto";
import type { PlannedStep } from "../build-plan.ts";
import { IGNORE_FILES } from "../context/dockerignore.ts";

/** A digest of each path that a step reads, as `context-digest.ts` makes it. */
export type ContextDigests = Readonly<Record<string, string>>;

/** Of a step, what its key is made of. */
export interface KeyedStep extends Pick<PlannedStep, "command" | "env" | "inputs"> {
  readonly kind: string;
}

interface KeyParts {
  /** Of the image that the first step begins on, by content. */
  readonly parent: string;
  /** Of the builder, by content. */
  readonly builder: string;
  readonly context: ContextDigests;
}

/**
 * 64 hexadecimal digits for each step, which stand for it and all before it. Null from the first step on that cannot be known beforehand: one that
 * reads a path without a digest, clones a repository, pushes, or pulls an image by a tag, which may mean another one tomorrow.
 */
export function stepKeys(steps: readonly KeyedStep[], { parent, ...parts }: KeyParts): (string | null)[] {
  let before: string | null = parent;
  return steps.map((step) => (before = before === null ? null : stepKey(step, { ...parts, parent: before })));
}

/** One that is not there is in the key as such. */
const MAY_BE_MISSING: ReadonlySet<string> = new Set(IGNORE_FILES);

/** What a step does not see is no part of it: a file that it does not copy, how it is called. */
function stepKey(step: KeyedStep, { parent, builder, context }: KeyParts): string | null {
  // They leave nothing on the disk; what is cloned is in no step's key, and what is pushed leaves the platform.
  if (step.kind === "git" || step.kind === "pack" || step.kind === "push") return null;
  if (step.kind === "image" && !/@sha256:[0-9a-f]{64}$/.test(step.env["STEP_IMAGE"] ?? "")) return null;
  const files = step.inputs.map((input) => [input, Object.hasOwn(context, input) ? context[input] : null]);
  if (files.some(([input, digest]) => digest === null && !MAY_BE_MISSING.has(input ?? ""))) return null;
  const seen = Object.entries(step.env).toSorted(byFirst);
  // JSON keeps apart what a mere concatenation would run together.
  return digestOf(JSON.stringify([parent, builder, step.kind, step.command, seen, files]));
}

/** Of a template: its last step, and what holds for it beside its files. Null where a step has none. */
export function templateKey(lastStep: string | null | undefined, config: unknown): string | null {
  if (lastStep === null || lastStep === undefined) return null;
  return digestOf(JSON.stringify([lastStep, sorted(config)]));
}

/** Of a version: its layers, the lowest first, and what holds for it beside its files. */
export function versionDigest({
  layers,
  config,
}: {
  readonly layers: readonly string[];
  readonly config: unknown;
}): string {
  return `sha256:${digestOf(JSON.stringify([layers, sorted(config)]))}`;
}

/** The same for equal values, also where PostgreSQL has put their fields into another order. */
function sorted(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(sorted);
  return Object.entries(value)
    .toSorted(byFirst)
    .map(([name, field]) => [name, sorted(field)]);
}

function digestOf(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

function byFirst([one]: readonly [string, unknown], [other]: readonly [string, unknown]): number {
  return one < other ? -1 : one > other ? 1 : 0;
}
