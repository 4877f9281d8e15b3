// What `skerry template build --plan` prints: what was found, what would run, and what holds then.

import type { FolderPlan } from "@skerry/sdk";
import type { Cli } from "../../cli.ts";

export async function printPlan(
  cli: Cli,
  { on, from, steps, config, processes, why }: FolderPlan,
): Promise<void> {
  for (const sentence of why) await cli.output.line(sentence);
  await cli.output.line("");
  await cli.output.table(
    ["STEP", "DOES"],
    [["0", `begin on ${on?.template ?? fromText(from, steps)}`], ...steps.map(numbered)],
    { prose: [1] },
  );
  await cli.output.line("");
  const { start, user, workdir, env } = config;
  await cli.output.fields([
    ...(start === undefined ? [] : [["starts", start.command] as const]),
    ...processes.map(({ name, command }) => [`process ${name}`, command] as const),
    ["user", user ?? (isDockerfile(steps) ? BASES : "root")],
    ["workdir", workdir ?? (isDockerfile(steps) ? BASES : "/root")],
    ...Object.entries(env).map(([name, value]) => [name, value] as const),
  ]);
}

const BASES = "that of what it begins on";

function isDockerfile(steps: FolderPlan["steps"]): boolean {
  return steps.some(({ kind }) => kind === "dockerfile");
}

function fromText(from: string | null, steps: FolderPlan["steps"]): string {
  if (from === null) return isDockerfile(steps) ? "what its FROM names" : "an empty disk";
  if (from.toLowerCase() === "scratch") return "an empty disk";
  return `${from}: the organization's template of this name, or else the image`;
}

function numbered({ name }: Readonly<{ name: string }>, index: number): readonly string[] {
  return [String(index + 1), name];
}
