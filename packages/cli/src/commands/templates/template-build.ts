// `skerry template build`: a folder becomes a template. What it is is detected here, so that `--plan` asks no server.

import { readFile } from "node:fs/promises";
import { Readable } from "node:stream";
import { planBuild } from "@skerry/contract/builds/plan/plan-build";
import type { Build, BuildRequest } from "@skerry/contract/builds/build";
import type { BuildPlan, ContextFiles, DetectedApp } from "@skerry/contract/builds/plan/build-plan";
import { isId } from "@skerry/contract/ids";
import { contextPath } from "@skerry/contract/builds/plan/context-path";
import { detectApp } from "@skerry/contract/builds/plan/detect-app";
import { readGitSource } from "@skerry/contract/builds/plan/git-source";
import type { Command } from "commander";
import type { Cli } from "../../cli.ts";
import { CliError, exitCodes, InterruptedError } from "../../errors.ts";
import { addExamples, collectPair, given } from "../../options.ts";
import { addEgressFlags, egressRequest, type EgressFlags } from "../vms/egress-flags.ts";
import { packTree, type Item } from "../copy/tar-writer.ts";
import { contextDigests } from "./context-digests.ts";
import { readContext, type ContextFolder } from "./context-folder.ts";

interface BuildFlags extends EgressFlags {
  readonly name?: string;
  readonly tag?: string;
  readonly plan?: boolean;
  readonly cache?: boolean;
  readonly from?: string;
  readonly git?: string;
  readonly dockerfile?: string;
  readonly target?: string;
  readonly buildArg?: Readonly<Record<string, string>>;
  readonly secret?: Readonly<Record<string, string>>;
  readonly env?: Readonly<Record<string, string>>;
  readonly size?: string;
  readonly timeout?: string;
  readonly stepTimeout?: string;
  readonly json?: boolean;
}

export function registerTemplateBuild(templates: Command, cli: Cli): void {
  const build = templates
    .command("build")
    .description("Build a folder: what it is is detected, and what is built is a template.")
    .argument("[dir]", "the folder (default: this one; none where --from is a snapshot)")
    .option("--name <name>", "of the template")
    .option("--tag <tag>", "of this version (default: latest alone)")
    .option("--plan", "print what would run, and run nothing; no server is asked")
    .option("--git <url>", "clone this repository in the build instead: URL[#REF[:FOLDER]]")
    .option(
      "--from <template>",
      "the template or snapshot to stand on, or that FROM of this name in a Dockerfile means",
    )
    .option("--no-cache", "carry out every step, also where its result is cached")
    .option("--dockerfile <path>", "build this Dockerfile of the folder, and detect nothing")
    .option("--target <stage>", "the Dockerfile's stage to build")
    .option("--build-arg <KEY=VALUE>", "an ARG of the Dockerfile (repeatable)", collectPair)
    .option(
      "--secret <NAME=FILE>",
      "what the file holds, for RUN --mount=type=secret,id=NAME of the Dockerfile (repeatable)",
      collectPair,
    )
    .option("--env <KEY=VALUE>", "a variable of the build and of what runs (repeatable)", collectPair)
    .option("--size <size>", "of the microVM that builds (default: shared-cpu-4x)")
    .option("--timeout <duration>", "of the build (default: 30m)")
    .option("--step-timeout <duration>", "of each step (default: as long as the build has)")
    .option("--json", "print JSON")
    .action(async (named: string | undefined, flags: BuildFlags, self: Command) => {
      const dir = named ?? ".";
      if (flags.git !== undefined) return buildRepository(cli, self, { dir, git: flags.git, flags });
      if (named === undefined && isSnapshotAlone(flags)) return buildSnapshot(cli, self, flags);
      const context = await readContext(dir);
      const found = appOf(context, flags);
      if (flags.plan === true) return tellPlan(cli, found, flags.json === true);
      await runBuild(cli, self, { folder: { dir, context }, found, flags });
    });
  addEgressFlags(build);
  addExamples(
    build,
    "skerry template build --name web --tag 42",
    "skerry template build --name web --step-timeout 5m --egress-allow-domain '*.example.com'",
    "skerry template build web --plan --dockerfile deploy/Dockerfile",
    "skerry template build --from snp_01jd0000000000000000000000 --name kept",
    "skerry template build --git https://git.example.com/shop.git#v1.2:web --name shop",
    "skerry template build --plan --json | jq -r '.steps[].shown'",
  );
}

/** Nothing is laid over it. */
function isSnapshotAlone({ from, dockerfile, target, buildArg }: BuildFlags): boolean {
  const isDockerfile = dockerfile !== undefined || target !== undefined || buildArg !== undefined;
  return from !== undefined && isId("snapshot", from) && !isDockerfile;
}

async function buildSnapshot(cli: Cli, self: Command, flags: BuildFlags): Promise<void> {
  const { from, env, plan, json } = flags;
  const request = given({ from, env });
  const found = { request, processes: [], why: ["The disk of the snapshot becomes the template."] };
  if (plan === true) return tellPlan(cli, found, json === true);
  await runBuild(cli, self, { found, flags });
}

interface RepositoryBuild {
  readonly dir: string;
  readonly git: string;
  readonly flags: BuildFlags;
}

/** What it is is detected in the builder: nothing of it is read here. */
async function buildRepository(cli: Cli, self: Command, { dir, git, flags }: RepositoryBuild): Promise<void> {
  const { plan, dockerfile, target, buildArg, env, from } = flags;
  readGitSource(git);
  if (dir !== "." || plan === true)
    throw new CliError("bad_flags", "--git is the context, and is read in the build alone.", {
      remediation: "Give neither a folder nor --plan beside it.",
      exitCode: exitCodes.usage,
    });
  const isDockerfile = dockerfile !== undefined || target !== undefined || buildArg !== undefined;
  const request = {
    git,
    ...(isDockerfile ? { dockerfile: given({ path: dockerfile, target, args: buildArg }) } : {}),
    ...given({ env, from }),
  };
  await runBuild(cli, self, { found: { request, processes: [], why: [] }, flags });
}

async function tellPlan(cli: Cli, found: DetectedApp, isJson: boolean): Promise<void> {
  const plan = planBuild(found.request);
  if (isJson) return cli.output.json(planJson(plan, found));
  await printPlan(cli, plan, found);
}

interface TemplateBuild {
  /** Absent where the build clones its context itself. */
  readonly folder?: { readonly dir: string; readonly context: ContextFolder };
  readonly found: DetectedApp;
  readonly flags: BuildFlags;
}

/** Prints the template's id on stdout, and what the build prints on stderr. */
async function runBuild(cli: Cli, self: Command, { folder, found, flags }: TemplateBuild): Promise<void> {
  const { name, tag, json, size, timeout, stepTimeout } = flags;
  if (name === undefined)
    throw new CliError("no_name", "The template has no name.", {
      remediation: "Give it one with --name, or see with --plan what would be built.",
      exitCode: exitCodes.usage,
    });
  const client = await cli.client(self);
  for (const sentence of found.why) await cli.output.note(sentence);
  const secrets = await readSecrets(flags.secret);
  const tree = folder && (await packTree(folder.dir, "", folder.context.isLeftOut));
  const bounds = given({ size, timeout, step_timeout: stepTimeout, egress: egressRequest(flags) });
  const options = await cacheOptions(flags, found, tree?.items);
  const request = { name, ...given({ tag }), ...bounds, ...found.request, ...options } as BuildRequest;
  let begun: Build | undefined;
  let printed = Promise.resolve();
  const print = (text: string) => (printed = printed.then(() => cli.output.note(text)));
  try {
    const build = await client.templates.build(request, {
      ...(tree !== undefined && {
        context: Readable.toWeb(Readable.from(tree.archive)) as ReadableStream<Uint8Array>,
      }),
      secrets,
      signal: cli.signal,
      onBuild: (one) => {
        begun = one;
        void print(`${one.id} builds ${one.name}:${one.tag}.`);
      },
      onLine: ({ step, text }) => void print(`${step === null ? "-" : step + 1}  ${text}`),
    });
    await printed;
    if (build.status !== "ready") throw notBuilt(build);
    if (json === true) return await cli.output.json(build);
    await cli.output.line(build.template_id ?? build.id);
  } catch (error) {
    // Nobody waits for it any more.
    if (begun !== undefined && error instanceof InterruptedError) await client.builds.cancel(begun.id);
    throw error;
  }
}

/** What the context will hold, so that the build begins where it differs from one before. */
async function cacheOptions(
  { cache }: BuildFlags,
  { request }: DetectedApp,
  items: readonly Item[] | undefined,
): Promise<Partial<BuildRequest>> {
  if (cache === false) return { no_cache: true };
  if (items === undefined) return {};
  const inputs = planBuild(request).steps.flatMap((step) => step.inputs);
  if (inputs.length === 0) return {};
  return { context_digests: await contextDigests(inputs, items) };
}

async function readSecrets(files: BuildFlags["secret"] = {}): Promise<Readonly<Record<string, string>>> {
  const read = async ([name, file]: [string, string]) => [name, await readFile(file, "utf8")] as const;
  return Object.fromEntries(await Promise.all(Object.entries(files).map(read)));
}

function notBuilt({ id, status, error, steps }: Build): CliError {
  if (error === null) return new CliError(`build_${status}`, `The build ${id} is ${status}.`);
  const name = error.step === null ? undefined : steps[error.step]?.name;
  const where = name === undefined ? "" : ` The step was: ${name}`;
  return new CliError(error.code, `${error.message}${where}`, {
    lines: error.last_lines,
    remediation: `The whole log: skerry build logs ${id}`,
  });
}

/** What the flags name, or what the folder's files say. */
function appOf(context: ContextFiles, flags: BuildFlags): DetectedApp {
  const { dockerfile, target, buildArg, env, from } = flags;
  if (dockerfile === undefined && target === undefined && buildArg === undefined) {
    const app = withEnv(detectApp(context), env);
    return { ...app, request: { ...app.request, ...given({ from }) } };
  }
  const path = dockerfile ?? "Dockerfile";
  if (!context.files.includes(contextPath(path, "--dockerfile")))
    throw new CliError("no_dockerfile", `There is no ${path} in the folder.`);
  const request = {
    dockerfile: given({ path: dockerfile, target, args: buildArg }),
    ...given({ env, from }),
  };
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
