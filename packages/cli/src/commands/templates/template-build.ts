// `skerry template build`: a folder, commands, an image, a repository or a snapshot becomes a template. What a folder is is detected here, so that
// `--plan` asks no server.

import type { BuildRequest } from "@skerry/contract/builds/build-request";
import type { DetectedApp } from "@skerry/build-plan/build-plan";
import { isId } from "@skerry/contract/ids";
import { contextPath } from "@skerry/build-plan/context/context-path";
import { withEnv } from "@skerry/build-plan/detect/detect-app";
import { readGitSource } from "@skerry/build-plan/context/git-source";
import { packFolder, planShown, readFolder, type ReadFolder } from "@skerry/sdk/folder/read-folder";
import type { Command } from "commander";
import type { Cli } from "../../cli.ts";
import { CliError, exitCodes } from "../../errors/errors.ts";
import { addExamples, collectPair, collectText, given, portNumber } from "../../input/options.ts";
import { addEgressFlags, egressRequest, type EgressFlags } from "../vms/egress-flags.ts";
import { collectBuildSecret, readBuildSecrets, type BuildSecret } from "./build-secrets.ts";
import { printPlan } from "./build-plan-text.ts";
import { followToEnd } from "./follow-to-end.ts";
import { readImageArchive } from "./image-archive.ts";

interface BuildFlags extends EgressFlags {
  readonly name?: string;
  readonly tag?: string;
  readonly plan?: boolean;
  readonly cache?: boolean;
  readonly from?: string;
  readonly run?: readonly string[];
  readonly image?: string;
  readonly git?: string;
  readonly start?: string;
  readonly readyPort?: number;
  readonly readyHttp?: string;
  readonly archive?: string;
  readonly dockerfile?: string;
  readonly target?: string;
  readonly buildArg?: Readonly<Record<string, string>>;
  readonly secret?: readonly BuildSecret[];
  readonly env?: Readonly<Record<string, string>>;
  readonly size?: string;
  readonly timeout?: string;
  readonly stepTimeout?: string;
  readonly json?: boolean;
}

export function registerTemplateBuild(templates: Command, cli: Cli): void {
  const build = templates
    .command("build")
    .description(
      "Build a template of a folder, whose kind is detected, of commands, an image, a repository or a snapshot.",
    )
    .argument(
      "[dir]",
      "the folder (default: this one; none with --run, --image, --git, --archive, or where --from is a snapshot)",
    )
    .option("--name <name>", "of the template")
    .option("--tag <tag>", "of this version (default: latest alone)")
    .option("--plan", "print what would run, and run nothing; no server is asked")
    .option("--run <command>", "run it as a step, and read no folder (repeatable)", collectText)
    .option("--image <reference>", "pull this image of a registry, and read no folder")
    .option("--git <url>", "clone this repository in the build instead: URL[#REF[:FOLDER]]")
    .option("--archive <file>", "build the image in this OCI or Docker archive instead of a folder")
    .option(
      "--from <template>",
      "the template or snapshot to stand on (of a Dockerfile it is the template that FROM names)",
    )
    .option("--no-cache", "carry out every step, also where its result is cached")
    .option("--dockerfile <path>", "build this Dockerfile of the folder, and detect nothing")
    .option("--target <stage>", "the Dockerfile's stage to build")
    .option("--build-arg <KEY=VALUE>", "an ARG of the Dockerfile (repeatable)", collectPair)
    .option(
      "--secret <NAME[=FILE]>",
      "a secret of the organization, or what the file holds, for RUN --mount=type=secret,id=NAME of the Dockerfile (repeatable)",
      collectBuildSecret,
    )
    .option("--env <KEY=VALUE>", "a variable of the build and of what runs (repeatable)", collectPair)
    .option("--start <command>", "run it while the template is frozen: its clones wake with it running")
    .option("--ready-port <port>", "freeze once what --start runs takes connections on it", portNumber)
    .option("--ready-http <path>", "freeze once a GET of this path is answered well, on --ready-port or 80")
    .option("--size <size>", "of the microVM that builds (default: shared-cpu-4x)")
    .option("--timeout <duration>", "of the build (default: 30m)")
    .option("--step-timeout <duration>", "of each step (default: as long as the build has)")
    .option("--json", "print JSON")
    .action(async (named: string | undefined, flags: BuildFlags, self: Command) => {
      const { folder, found } = await meant(named, flags);
      const app = withStart(found, flags);
      if (flags.plan === true)
        return flags.json === true ? cli.output.json(planShown(app)) : printPlan(cli, planShown(app));
      await runBuild(cli, self, { folder, found: app, flags });
    });
  addEgressFlags(build);
  addExamples(
    build,
    "skerry template build --name web --tag 42",
    "skerry template build --name web --step-timeout 5m --egress-allow-domain '*.example.com'",
    "skerry template build web --plan --dockerfile deploy/Dockerfile",
    "skerry template build --from web:42 --run 'apt-get install -y jq' --name web --tag 43",
    "skerry template build --image docker.io/library/redis:7 --start redis-server --ready-port 6379 --name redis",
    "skerry template build --from snp_01jd0000000000000000000000 --name kept",
    "skerry template build --git https://git.example.com/shop.git#v1.2:web --name shop",
    "skerry template build --archive app.tar --name app --tag 1",
    "skerry template build --plan --json | jq -r '.steps[].shown'",
  );
}

type Meant = Pick<TemplateBuild, "folder" | "found">;

/** What the flags and the folder say is to be built. A folder is read only where nothing else is named. */
async function meant(named: string | undefined, flags: BuildFlags): Promise<Meant> {
  const { run, image, git, archive } = flags;
  if (archive !== undefined) return { folder: undefined, found: archived(named, flags) };
  if (git !== undefined) return { folder: undefined, found: repository(named, git, flags) };
  if (run !== undefined || image !== undefined) return { folder: undefined, found: commands(named, flags) };
  if (named === undefined && isSnapshotAlone(flags))
    return { folder: undefined, found: snapshotAlone(flags) };
  const { dockerfile, target, buildArg, env, from } = flags;
  const path = dockerfile === undefined ? undefined : contextPath(dockerfile, "--dockerfile");
  const folder = await readFolder(named ?? ".", {
    ...(isDockerfile(flags) ? { dockerfile: given({ path, target, args: buildArg }) } : {}),
    ...given({ env, from }),
  });
  return { folder, found: folder.app };
}

/** What is detected in it shows in the builder: nothing of it is read here. */
function repository(named: string | undefined, git: string, flags: BuildFlags): DetectedApp {
  const { plan, run, image, dockerfile, target, buildArg, env, from } = flags;
  readGitSource(git);
  if (![undefined, "."].includes(named) || plan === true || run !== undefined || image !== undefined)
    throw new CliError("bad_flags", "--git is the context, and is read in the build alone.", {
      remediation: "Give none of a folder, --plan, --run and --image beside it.",
      exitCode: exitCodes.usage,
    });
  const request = {
    git,
    ...(isDockerfile(flags) ? { dockerfile: given({ path: dockerfile, target, args: buildArg }) } : {}),
    ...given({ env, from }),
  };
  return { request, processes: [], why: [] };
}

/** Steps on a template or on an image, which copy nothing. */
function commands(named: string | undefined, flags: BuildFlags): DetectedApp {
  const { run, image, from, env } = flags;
  if (named !== undefined || isDockerfile(flags))
    throw new CliError(
      "bad_flags",
      "--run and --image are built without a folder and without a Dockerfile.",
      {
        remediation: "Give neither beside them.",
        exitCode: exitCodes.usage,
      },
    );
  const steps = run?.map((command) => ({ run: command }));
  return withEnv({ request: given({ from, image, steps }), processes: [], why: [] }, env);
}

/** Nothing of it is looked into here. */
function archived(named: string | undefined, flags: BuildFlags): DetectedApp {
  const { run, image, git, from, env } = flags;
  const others = [named, image, git, from];
  if (others.some((one) => one !== undefined) || isDockerfile(flags))
    throw new CliError("bad_flags", "--archive is a whole image, which commands alone may stand on.", {
      remediation: "Give no folder, --image, --git, --from or flag of a Dockerfile beside it.",
      exitCode: exitCodes.usage,
    });
  const steps = run?.map((command) => ({ run: command }));
  return withEnv({ request: { archive: true, ...given({ steps }) }, processes: [], why: [] }, env);
}

/** Nothing is laid over it. */
function isSnapshotAlone(flags: BuildFlags): boolean {
  return flags.from !== undefined && isId("snapshot", flags.from) && !isDockerfile(flags);
}

function snapshotAlone({ from, env }: BuildFlags): DetectedApp {
  const why = ["The disk of the snapshot becomes the template."];
  return { request: given({ from, env }), processes: [], why };
}

function isDockerfile({ dockerfile, target, buildArg }: BuildFlags): boolean {
  return dockerfile !== undefined || target !== undefined || buildArg !== undefined;
}

/** Over what was detected. */
function withStart(found: DetectedApp, { start, readyPort, readyHttp }: BuildFlags): DetectedApp {
  const ready = given({ port: readyPort, http: readyHttp });
  const isConditional = Object.keys(ready).length > 0;
  if (start === undefined && isConditional)
    throw new CliError("bad_flags", "--ready-port and --ready-http say when what --start runs is ready.", {
      remediation: "Add --start, or leave them out.",
      exitCode: exitCodes.usage,
    });
  if (start === undefined) return found;
  const begun = { command: start, ...(isConditional ? { ready } : {}) };
  return { ...found, request: { ...found.request, start: begun } };
}

interface TemplateBuild {
  /** Undefined where the build reads none. */
  readonly folder: ReadFolder | undefined;
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
  const { stored, values: secrets } = await readBuildSecrets(flags.secret);
  await using sent = await openContext(flags, found, folder);
  const egress = egressRequest(flags);
  const bounds = given({ size, timeout, step_timeout: stepTimeout, egress, secrets: stored });
  const cache = flags.cache === false ? { no_cache: true } : {};
  const request = { name, ...given({ tag }), ...bounds, ...cache, ...sent.request } as BuildRequest;
  const build = await followToEnd(cli, client, (told) =>
    client.templates.build(request, {
      context: sent.content,
      secrets,
      signal: cli.signal,
      ...told((one) => `builds ${one.name}:${one.tag}`),
    }),
  );
  if (json === true) return cli.output.json(build);
  await cli.output.line(build.template_id ?? build.id);
}

interface SentContext extends AsyncDisposable {
  readonly request: DetectedApp["request"];
  /** Undefined where nothing is sent. */
  readonly content?: ReadableStream<Uint8Array>;
}

/** What is built, and what is sent for that. */
async function openContext(
  { archive, cache }: BuildFlags,
  app: DetectedApp,
  folder: ReadFolder | undefined,
): Promise<SentContext> {
  if (archive !== undefined) return { request: app.request, ...(await readImageArchive(archive)) };
  const sent = folder === undefined ? app : await packFolder({ ...folder, app }, cache !== false);
  return { ...sent, async [Symbol.asyncDispose]() {} };
}
