// `skerry template build --plan`: what a build of a folder would do. No server is asked.

import { planBuild } from "@skerry/contract/builds/plan/plan-build";
import type { BuildPlan, ContextFiles, DetectedApp } from "@skerry/contract/builds/plan/build-plan";
import { contextPath } from "@skerry/contract/builds/plan/context-path";
import { detectApp } from "@skerry/contract/builds/plan/detect-app";
import type { Command } from "commander";
import type { Cli } from "../../cli.ts";
import { CliError } from "../../errors.ts";
import { addExamples, collectPair, given } from "../../options.ts";
import { readContext } from "./context-folder.ts";

interface BuildFlags {
  readonly dockerfile?: string;
  readonly target?: string;
  readonly buildArg?: Readonly<Record<string, string>>;
  readonly env?: Readonly<Record<string, string>>;
  readonly json?: boolean;
}

export function registerTemplateBuild(templates: Command, cli: Cli): void {
  const build = templates
    .command("build")
    .description("Show how a folder becomes a template: what is detected in it, and which steps follow.")
    .argument("[dir]", "the folder", ".")
    .requiredOption("--plan", "print what would run, and run nothing")
    .option("--dockerfile <path>", "build this Dockerfile of the folder, and detect nothing")
    .option("--target <stage>", "the Dockerfile's stage to build")
    .option("--build-arg <KEY=VALUE>", "an ARG of the Dockerfile (repeatable)", collectPair)
    .option("--env <KEY=VALUE>", "a variable of the build and of what runs (repeatable)", collectPair)
    .option("--json", "print JSON")
    .action(async (dir: string, flags: BuildFlags) => {
      const context = await readContext(dir);
      const found = appOf(context, flags);
      const plan = planBuild(found.request);
      if (flags.json === true) return cli.output.json(planJson(plan, found));
      await printPlan(cli, plan, found);
    });
  addExamples(
    build,
    "skerry template build --plan",
    "skerry template build web --plan --dockerfile deploy/Dockerfile",
    "skerry template build --plan --json | jq -r '.steps[].shown'",
  );
}

/** What the flags name, or what the folder's files say. */
function appOf(context: ContextFiles, flags: BuildFlags): DetectedApp {
  const { dockerfile, target, buildArg, env } = flags;
  if (dockerfile === undefined && target === undefined && buildArg === undefined)
    return withEnv(detectApp(context), env);
  const path = dockerfile ?? "Dockerfile";
  if (!context.files.includes(contextPath(path, "--dockerfile")))
    throw new CliError("no_dockerfile", `There is no ${path} in the folder.`);
  const request = { dockerfile: given({ path: dockerfile, target, args: buildArg }), ...given({ env }) };
  return { request, processes: [], why: [`buildah builds ${path}.`] };
}

/** Steps see it too: an install may need where to install from. */
function withEnv(app: DetectedApp, env: BuildFlags["env"]): DetectedApp {
  const { steps } = app.request;
  if (env === undefined) return app;
  if (steps === undefined) return { ...app, request: { ...app.request, env } };
  return { ...app, request: { ...app.request, steps: [{ env }, ...steps] } };
}

/** Without the scripts that carry the steps out. */
function planJson({ on, steps, config }: BuildPlan, { processes, why }: DetectedApp): object {
  return {
    on,
    steps: steps.map(({ kind, name, shown, sees, inputs }) => ({ kind, name, shown, sees, inputs })),
    config,
    processes,
    why,
  };
}

async function printPlan(
  cli: Cli,
  { on, steps, config }: BuildPlan,
  { processes, why }: DetectedApp,
): Promise<void> {
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
