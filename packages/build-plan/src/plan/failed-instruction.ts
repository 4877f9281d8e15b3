// Which instruction of a Dockerfile a step was at when it failed, from the line that buildah has printed of
// it last. A guest may print any line: then its own error names another instruction.

import { SkerryError } from "@skerry/contract/errors";
import type { PlanRequest } from "../build-plan.ts";
import { dockerfileGroups } from "../dockerfile/dockerfile-groups.ts";
import { plainDockerfile, type PlainInstruction } from "../dockerfile/plain-dockerfile.ts";
import { shownLine } from "./planned-step.ts";

/** Pattern of such a line. PostgreSQL reads it, too. */
export const STEP_LINE = String.raw`^(\[[0-9]+/[0-9]+\] )?STEP [0-9]+/[0-9]+: `;

interface Failed {
  readonly request: Pick<PlanRequest, "dockerfile" | "from">;
  /** Number of the step among those of the Dockerfile, from 0 on. */
  readonly group: number;
  /** Undefined where there is none. */
  readonly said: string | undefined;
}

/** Such as `RUN make (Dockerfile, line 3)`, without the place where the text is not known. Undefined where
 *  nothing was said. */
export function failedInstruction({ request, group, said = "" }: Failed): string | undefined {
  const [, stage = "1", index = "", shown = ""] =
    /^(?:\[(\d+)\/\d+\] )?STEP (\d+)\/\d+: (.*)$/s.exec(said) ?? [];
  if (request.dockerfile === undefined || shown === "") return undefined;
  const found = stagesOf(carriedOut(request, group))[Number(stage) - 1]?.[Number(index) - 1];
  if (found === undefined || !shown.toUpperCase().startsWith(found.word)) return shownLine(shown);
  return `${shownLine(found.text)} (${request.dockerfile.path ?? "Dockerfile"}, line ${found.line})`;
}

/** The instructions of that step. */
function carriedOut(
  { dockerfile: { path: file = "Dockerfile", text, args = {} } = {}, from }: Failed["request"],
  group: number,
): readonly PlainInstruction[] {
  if (text === undefined) return [];
  const config = { env: {}, user: null, workdir: null };
  const template = from === undefined ? undefined : { name: from, config };
  const plain = unlessRefused(() => plainDockerfile(text, { file, args, template }));
  if (plain === undefined) return [];
  return dockerfileGroups(plain)?.[group]?.carried ?? plain.instructions;
}

/** Variables that a template sets are not known here, so a text that needs one may be refused. */
function unlessRefused<Read>(read: () => Read): Read | undefined {
  try {
    return read();
  } catch (error) {
    if (error instanceof SkerryError) return undefined;
    throw error;
  }
}

/** As buildah counts: from each FROM on, each line of what one instruction has become. */
function stagesOf(instructions: readonly PlainInstruction[]): readonly (readonly PlainInstruction[])[] {
  const stages: PlainInstruction[][] = [];
  for (const one of instructions) {
    if (one.word === "FROM") stages.push([]);
    for (let line = 0; line < one.parts; line += 1) stages.at(-1)?.push(one);
  }
  return stages;
}
