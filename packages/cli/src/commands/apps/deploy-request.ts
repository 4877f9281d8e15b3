// A deploy as the API takes it, from flags, from `skerry.toml` and from what is detected in a folder. Flags
// count more than the file, and the file more than what is detected.

import { basename, resolve } from "node:path";
import type { AppFile } from "@skerry/contract/apps/app-file";
import type { DetectedApp } from "@skerry/build-plan/build-plan";
import { contextPath } from "@skerry/build-plan/context/context-path";
import { packFolder, readFolder, type ReadFolder } from "@skerry/sdk/folder/read-folder";
import type { DeployCreateRequest } from "@skerry/sdk";
import { CliError, exitCodes } from "../../errors/errors.ts";
import { given } from "../../input/options.ts";
import { envOf } from "../vms/env-flags.ts";
import { APP_FILE, readAppFile } from "./app-file.ts";
import type { DeployFlags } from "./deploy-flags.ts";

/** Port that an app finds in $PORT and listens on, where nothing says another one. */
const PORT = 8_080;

export interface Wanted {
  readonly app: string;
  readonly request: DeployCreateRequest;
  readonly scale: AppFile["scale"];
  /** Archive that the build waits for; undefined: none. */
  readonly content?: ReadableStream<Uint8Array>;
  /** Sentences: what was found in the folder. */
  readonly why: readonly string[];
}

/** Throws where nothing says which app is meant, and for a folder that says nothing of what it is. */
export async function wantedDeploy(folder: string, flags: DeployFlags): Promise<Wanted> {
  const file = await readAppFile(folder);
  const app = flags.app ?? file?.app;
  if (app === undefined)
    throw new CliError("no_app", `There is no ${APP_FILE} here that names the app.`, {
      remediation: "Give --app NAME, or begin with `skerry launch`, which writes the file.",
      exitCode: exitCodes.usage,
    });
  const { found, why, ...source } = await sourceOf(folder, flags, file?.build);
  const request = {
    ...source.request,
    ...given(await runningOf(flags, file, found)),
    ...file?.deploy,
    ...releaseCommandOf(flags, file, found),
    ...given({ strategy: flags.strategy ?? file?.deploy?.strategy }),
  };
  const { content } = source;
  return { app, request, scale: file?.scale, why, ...(content !== undefined && { content }) };
}

interface Source {
  readonly request: DeployCreateRequest;
  readonly content?: ReadableStream<Uint8Array>;
  /** Findings in the folder; undefined: it was not read. */
  readonly found?: Found;
  readonly why: readonly string[];
}

async function sourceOf(folder: string, flags: DeployFlags, build: AppFile["build"] = {}): Promise<Source> {
  const asked = Object.entries(given({ template: flags.template, image: flags.image }));
  const kept = Object.entries(given({ template: build.template, image: build.image }));
  const [named, ...others] = asked.length > 0 ? asked : flags.dockerfile === undefined ? kept : [];
  if (others.length > 0 || (asked.length > 0 && flags.dockerfile !== undefined))
    throw new CliError("bad_flags", "Several things are to be deployed.", {
      remediation: "Give one of --template, --image and --dockerfile, or none for what the folder is.",
      exitCode: exitCodes.usage,
    });
  if (named !== undefined) return { request: Object.fromEntries([named]), why: [] };
  const { target, args, env, size } = build;
  const dockerfile = flags.dockerfile ?? build.dockerfile;
  const path = dockerfile === undefined ? undefined : contextPath(dockerfile, "dockerfile");
  const read = await readFolder(folder, {
    ...(path === undefined ? {} : { dockerfile: given({ path, target, args }) }),
    ...given({ env }),
  });
  const { request, content } = await packFolder(toSend(read), flags.cache !== false);
  const cache = flags.cache === false ? { no_cache: true } : {};
  return {
    request: { build: { ...request, ...given({ size }), ...cache, context: true } },
    ...{ content, found: foundIn(read.app), why: read.app.why },
  };
}

/**
 * Without the command, which runs in instances and not while the template is frozen, and without the file
 * itself, whose changes are no reason to build anew.
 */
function toSend({ dir, context, app }: ReadFolder): ReadFolder {
  const { start: _start, ...request } = app.request;
  const isLeftOut: typeof context.isLeftOut = (path, isFolder) =>
    path === APP_FILE || context.isLeftOut(path, isFolder);
  return { dir, context: { ...context, isLeftOut }, app: { ...app, request } };
}

type Processes = NonNullable<DeployCreateRequest["processes"]>;
type Services = NonNullable<DeployCreateRequest["services"]>;

export interface Found {
  readonly processes: Processes;
  readonly services: Services;
  readonly releaseCommand: string | undefined;
}

/** Heroku's name for it in a Procfile. */
const RELEASE = "release";

export function foundIn({ request, processes }: DetectedApp): Found {
  const { start, dockerfile } = request;
  const isServer = start === undefined || start.ready !== undefined;
  const groups = processes.filter(({ name }) => name !== RELEASE);
  const port = exposedPort(dockerfile?.text) ?? PORT;
  return {
    processes: {
      [isServer ? "web" : "worker"]: given({ command: start?.command }),
      ...Object.fromEntries(groups.map(({ name, command }) => [name, { command }])),
    },
    services: isServer ? [{ group: "web", port, check: { path: "/" } }] : [],
    releaseCommand: processes.find(({ name }) => name === RELEASE)?.command,
  };
}

/** Port that the Dockerfile says last. */
function exposedPort(text = ""): number | undefined {
  const port = [...text.matchAll(/^\s*EXPOSE\s+(\d{1,5})\b/gim)].at(-1)?.[1];
  return port === undefined ? undefined : Number(port);
}

type Running = Pick<DeployCreateRequest, "processes" | "services" | "env" | "secrets">;

async function runningOf(
  flags: DeployFlags,
  file: AppFile | undefined,
  found: Found | undefined,
): Promise<{ [Field in keyof Running]: Running[Field] | undefined }> {
  const { port, checkPath: path = "/", secret } = flags;
  const env = await envOf(flags);
  const secrets = secret ?? file?.secrets;
  return {
    processes: processesOf(flags, file, found),
    services:
      port === undefined
        ? ((file && servicesOf(file)) ?? found?.services)
        : [{ group: "web", port, check: { path } }],
    // The file says all of it, so that what is taken out of it is gone.
    env: file === undefined ? env : { ...file.env, ...env },
    secrets: secrets?.map((name) => ({ name })) ?? (file === undefined ? undefined : []),
  };
}

function processesOf(
  { command, process: groups = {} }: DeployFlags,
  file: AppFile | undefined,
  found: Found | undefined,
): Processes | undefined {
  const base = (file && fileProcesses(file)) ?? found?.processes;
  const others = Object.entries(groups).map(([group, line]) => [group, { command: line }] as const);
  if (command === undefined && others.length === 0) return base;
  const web = command === undefined ? (base?.["web"] ?? {}) : { ...base?.["web"], command };
  return { ...base, web, ...Object.fromEntries(others) };
}

function fileProcesses({ processes, size }: AppFile): Processes | undefined {
  const tables = Object.entries(processes ?? (size === undefined ? {} : { web: {} })).map(
    ([group, one]) =>
      [group, { ...given({ size }), ...(typeof one === "string" ? { command: one } : one) }] as const,
  );
  return tables.length === 0 ? undefined : Object.fromEntries(tables);
}

function servicesOf({ services }: AppFile): Services | undefined {
  return services?.map(({ group = "web", ...service }) => ({ group, ...service }));
}

function releaseCommandOf(
  { releaseCommand }: DeployFlags,
  file: AppFile | undefined,
  found: Found | undefined,
): Pick<DeployCreateRequest, "release_command"> {
  const command = releaseCommand ?? file?.deploy?.release_command ?? found?.releaseCommand;
  if (command !== undefined) return { release_command: command };
  return file === undefined ? {} : { release_command: null };
}

/** The file that `skerry launch` writes for a folder. */
export async function launchedFile(folder: string, name: string | undefined): Promise<AppFile> {
  const { app } = await readFolder(folder);
  const { processes, services, releaseCommand } = foundIn(app);
  const commands = Object.entries(processes).flatMap(([group, { command }]) =>
    command === undefined ? [] : [[group, command] as const],
  );
  return {
    app: name ?? nameOf(folder),
    ...(app.request.dockerfile !== undefined && { build: { dockerfile: "Dockerfile" } }),
    ...(commands.length > 0 && { processes: Object.fromEntries(commands) }),
    ...(services.length > 0 && { services }),
    ...(releaseCommand !== undefined && { deploy: { release_command: releaseCommand } }),
  };
}

const NAME_MAX = 40;

function nameOf(folder: string): string {
  const name = basename(resolve(folder))
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, "-")
    .slice(0, NAME_MAX)
    .replaceAll(/^-+|-+$/g, "");
  return name === "" ? "app" : name;
}
