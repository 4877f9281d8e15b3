// A folder of this machine as what is built: what it is, and what is sent. Node only; `no-folder.ts` is in the place of this room elsewhere.

import { Readable } from "node:stream";
import { join } from "node:path";
import type { BuildRequest } from "@skerry/contract/builds/build";
import type {
  BuildPlan,
  DetectedApp,
  PlannedConfig,
  PlannedProcess,
  PlannedStart,
  PlannedStep,
  PlanRequest,
} from "@skerry/contract/builds/plan/build-plan";
import { contextPath } from "@skerry/contract/builds/plan/context-path";
import { detectApp } from "@skerry/contract/builds/plan/detect-app";
import { planBuild } from "@skerry/contract/builds/plan/plan-build";
import { SkerryInputError } from "../errors.ts";
import { contextDigests } from "./context-digests.ts";
import { readContext, type ContextFolder } from "./context-folder.ts";
import { readDockerfile, withText } from "./dockerfile-text.ts";
import { packTree } from "./tar-writer.ts";

/** What is said of a folder beside what is in it. */
export type FolderWish = Pick<PlanRequest, "from" | "steps" | "dockerfile" | "env" | "start">;

export interface ReadFolder {
  readonly dir: string;
  readonly context: ContextFolder;
  readonly app: DetectedApp;
}

/**
 * What the folder is, unless `steps` or `dockerfile` say what is to be done. Throws `SkerryInputError` for what cannot be sent, and `SkerryError` with the code
 * `app_not_detected`, `context_too_large` or `invalid_build`.
 */
export async function readFolder(dir: string, wish: FolderWish = {}): Promise<ReadFolder> {
  const context = await readContext(dir);
  if (wish.steps !== undefined) return { dir, context, app: { request: wish, processes: [], why: [] } };
  const path = contextPath(wish.dockerfile?.path ?? "Dockerfile", "`dockerfile.path`");
  const text = await readDockerfile(join(dir, path));
  // As everywhere else, .dockerignore keeps it out of what is copied, and not from being built.
  const isSent = context.files.includes(path);
  const files = isSent || text === undefined ? context.files : [...context.files, path].toSorted();
  const app =
    wish.dockerfile === undefined ? detected({ ...context, files }, wish) : named(path, files, wish);
  const whole = app.request.dockerfile === undefined ? app : withText(app, { text, isSent });
  return { dir, context, app: wish.start === undefined ? whole : started(whole, wish.start) };
}

/** Steps see its environment too: an install may need where to install from. */
function detected(context: ContextFolder, { env, from }: FolderWish): DetectedApp {
  const app = detectApp(context);
  const { steps } = app.request;
  const seen =
    steps !== undefined && env !== undefined ? { steps: [{ env }, ...steps] } : { ...(env && { env }) };
  return { ...app, request: { ...app.request, ...seen, ...(from !== undefined && { from }) } };
}

/** The Dockerfile that is named. */
function named(path: string, files: readonly string[], wish: FolderWish): DetectedApp {
  if (!files.includes(path))
    throw new SkerryInputError(
      `There is no ${path} in the folder.`,
      "Name one that is there, or none, and what the folder is is detected.",
      "no_dockerfile",
    );
  return { request: wish, processes: [], why: [`buildah builds ${path}.`] };
}

function started(app: DetectedApp, start: PlannedStart): DetectedApp {
  return { ...app, request: { ...app.request, start } };
}

/** What a build would do, and why. */
export interface FolderPlan {
  /** What the steps begin on; null: an empty disk. */
  readonly on: BuildPlan["on"];
  readonly steps: readonly Pick<PlannedStep, "kind" | "name" | "shown" | "sees" | "inputs">[];
  /** What holds for that which runs in VMs of the template. */
  readonly config: PlannedConfig;
  /** What the app has beside the process that its template starts. */
  readonly processes: readonly PlannedProcess[];
  /** Sentences: what was found, and what follows from it. */
  readonly why: readonly string[];
}

/** Without the scripts that carry the steps out. */
export function planShown({ request, processes, why }: DetectedApp): FolderPlan {
  const { on, steps, config } = planBuild(request);
  return {
    on,
    steps: steps.map(({ kind, name, shown, sees, inputs }) => ({ kind, name, shown, sees, inputs })),
    ...{ config, processes, why },
  };
}

export interface SentFolder {
  /** With the digests of what will be sent, so that the build begins where it differs from one before. */
  readonly request: Partial<BuildRequest>;
  /** A tar archive, which is read when it is sent. */
  readonly content: ReadableStream<Uint8Array>;
}

/** `isCached`: what was built before counts. */
export async function packFolder(
  { dir, context, app: { request } }: ReadFolder,
  isCached: boolean,
): Promise<SentFolder> {
  const { items, archive } = await packTree(dir, "", context.isLeftOut);
  const inputs = isCached ? planBuild(request).steps.flatMap((step) => step.inputs) : [];
  const digests = inputs.length > 0 ? { context_digests: await contextDigests(inputs, items) } : {};
  return {
    request: { ...(request as Partial<BuildRequest>), ...digests },
    content: Readable.toWeb(Readable.from(archive)) as ReadableStream<Uint8Array>,
  };
}
