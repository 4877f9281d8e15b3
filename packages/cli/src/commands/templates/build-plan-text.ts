// What `skerry template build --plan` prints: what was found, what would run, and what holds then.

import type { FolderPlan } from "@skerry/sdk";
import type { Cli } from "../../cli.ts";

export async function printPlan(cli: Cli, { on, steps, config, processes, why }: FolderPlan): Promise<void> {
  for (const sentence of why) await cli.output.line(sentence);
  await cli.output.line("");
  await cli.output.table(
    ["STEP", "DOES"],
    [["0", `begin on ${on === null ? "an empty disk" : on.template}`], ...steps.map(numbered)],
    { prose: [1] },
  );
  await cli.output.line("");
  const { start, user, workdir, env } = config;
  await cli.output.fields([
    ...(start === undefined ? [] : [["starts", start.command] as const]),
    ...processes.map(({ name, command }) => [`process ${name}`, command] as const),
    ["user", user ?? "root"],
    ["workdir", workdir ?? "/root"],
    ...Object.entries(env).map(([name, value]) => [name, value] as const),
  ]);
}

function numbered({ name }: Readonly<{ name: string }>, index: number): readonly string[] {
  return [String(index + 1), name];
}
