// One step for the builder: a script of ours, which is always the same, with all that differs in its environment. So nothing that a user
// wrote is ever part of a shell's text but the command that it runs in the template.

import { SkerryError } from "@skerry/contract/errors";
import type { PlannedConfig, PlannedStep, StepKind } from "../build-plan.ts";
import { SEAL_SCRIPT } from "../scripts/builder-scripts.ts";

/** What an execution's frame takes at most, less what it has besides. */
const STEP_MAX_BYTES = 60 * 1024;

const NAME_MAX_CHARS = 200;

interface StepParts {
  readonly kind: StepKind;
  readonly shown: string;
  readonly script: string;
  /** `STEP_NAME` of the script. */
  readonly variables: Readonly<Record<string, string>>;
  /** `STEP_NAMES` counts them, and they are `STEP_NAME_0`, `STEP_NAME_1` …. */
  readonly lists?: Readonly<Record<string, readonly string[]>>;
  readonly sees: PlannedConfig;
  readonly inputs: readonly string[];
}

export function buildStep({
  kind,
  shown,
  script,
  variables,
  lists = {},
  sees,
  inputs,
}: StepParts): PlannedStep {
  const env = Object.fromEntries([
    ...Object.entries(variables).map(([name, value]) => [`STEP_${name}`, value]),
    ...Object.entries(lists).flatMap(([name, values]) => [
      [`STEP_${name}S`, String(values.length)],
      ...values.map((value, index) => [`STEP_${name}_${index}`, value]),
    ]),
  ]) as Record<string, string>;
  const step = { kind, name: shownLine(shown), shown, command: script, env, sees, inputs };
  const bytes = Buffer.byteLength(JSON.stringify([script, env]));
  if (Object.values(env).some((value) => value.includes("\0")))
    throw new SkerryError("invalid_build", `The step "${step.name}" has a NUL byte.`);
  if (bytes > STEP_MAX_BYTES)
    throw new SkerryError(
      "invalid_build",
      `The step "${step.name}" has ${bytes} bytes with its environment, and may have ${STEP_MAX_BYTES}.`,
      { remediation: "Put a long script into a file of the context, copy it, and run that." },
    );
  return step;
}

/** The last step of each build: what no clone needs is removed, and the disk is left as if it had been unmounted for good. */
export function sealStep(): PlannedStep {
  return buildStep({
    kind: "seal",
    shown: "clean up and check the disk",
    script: SEAL_SCRIPT,
    variables: {},
    sees: { env: {}, user: null, workdir: null },
    inputs: [],
  });
}

/** Its first line, in at most 200 characters. */
export function shownLine(text: string): string {
  const whole = text.trim();
  const [first = ""] = whole.split("\n", 1);
  const line = first.trimEnd();
  const isCut = line.length > NAME_MAX_CHARS - 2 || first.length < whole.length;
  return isCut ? `${line.slice(0, NAME_MAX_CHARS - 2)} …` : line;
}

export function ownFault(field: string, fault: string): SkerryError {
  return new SkerryError("invalid_build", `\`${field}\` ${fault}.`, { context: { field } });
}
