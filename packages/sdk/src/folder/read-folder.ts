// A folder of this machine as what is built: what it is, and what is sent. Node only; elsewhere, as in browsers, `no-folder.ts` is used instead.

import type { BuildRequest } from "@skerry/contract/builds/build-request";
import type {
  BuildPlan,
  DetectedApp,
  PlannedConfig,
  PlannedProcess,
  PlannedStep,
  PlanRequest,
} from "@skerry/build-plan/build-plan";
import { contextPath } from "@skerry/build-plan/context/context-path";
import { detectApp, withEnv } from "@skerry/build-plan/detect/detect-app";
import { dockerfileOutcome, type DockerfileOutcome } from "@skerry/build-plan/dockerfile/dockerfile-outcome";
import { unusedCommand } from "@skerry/build-plan/dockerfile/unused-command";
import { planBuild } from "@skerry/build-plan/plan/plan-build";
import { SkerryInputError } from "../errors/errors.ts";
import { contextDigests } from "./context-digests.ts";
import { ownText, readContext, type ContextFolder } from "./context-folder.ts";
import { withText } from "./dockerfile-text.ts";
import { packTree } from "./tar-writer.ts";

/** What is said of a folder beside what is in it. */
export type FolderWish = Pick<
  PlanRequest,
  "from" | "steps" | "dockerfile" | "env" | "user" | "workdir" | "start"
>;

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
  // Nothing of the folder is looked into for it.
  if (wish.steps !== undefined || wish.dockerfile?.text !== undefined)
    return { dir, context, app: { request: wish, processes: [], why: [] } };
  const path = contextPath(wish.dockerfile?.path ?? "Dockerfile", "`dockerfile.path`");
  const text = await ownText(dir, path);
  // As everywhere else, .dockerignore keeps it out of what is copied, and not from being built.
  const isSent = context.files.includes(path);
  const files = isSent || text === undefined ? context.files : [...context.files, path].toSorted();
  const app =
    wish.dockerfile === undefined ? detected({ ...context, files }, wish) : named(path, { dir, files }, wish);
  return { dir, context, app: app.request.dockerfile ? withText(app, { text, isSent }) : app };
}

function detected(context: ContextFolder, { from, env, user, workdir, start }: FolderWish): DetectedApp {
  const app = withEnv(detectApp(context), env);
  return { ...app, request: { ...app.request, ...given({ from, user, workdir, start }) } };
}

/** Without what is undefined. */
function given(wish: { [Name in keyof FolderWish]: FolderWish[Name] | undefined }): FolderWish {
  return Object.fromEntries(Object.entries(wish).filter(([, value]) => value !== undefined));
}

/** The Dockerfile that is named. */
function named(
  path: string,
  { dir, files }: { readonly dir: string; readonly files: readonly string[] },
  wish: FolderWish,
): DetectedApp {
  const where = dir === "." ? "this folder" : dir;
  if (!files.includes(path))
    throw new SkerryInputError(
      `There is no ${path} in ${where}.`,
      `Name a Dockerfile that is there, by its path in ${where}; without one what the folder is is detected.`,
      "no_dockerfile",
    );
  return { request: wish, processes: [], why: [`buildah builds ${path}.`] };
}

/** What a build would do, and why. */
export interface FolderPlan {
  /** What the steps begin on; null: an empty disk. */
  readonly on: BuildPlan["on"];
  /**
   * Template of the organization or image that FROM of its Dockerfile names; null where there is none, or its
   * text is too long to be read.
   */
  readonly from: string | null;
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
  const { text, args = {}, target = "" } = request.dockerfile ?? {};
  const outcome = text === undefined ? undefined : dockerfileOutcome(text, { args, target });
  return {
    on,
    from: outcome?.base ?? null,
    steps: steps.map(({ kind, name, shown, sees, inputs }) => ({ kind, name, shown, sees, inputs })),
    ...{ config: outcome === undefined ? config : over(outcome, config), processes },
    why: [...why, ...unusedCommand(outcome?.command ?? null, config.start)],
  };
}

/** Fields of the request beside the Dockerfile take precedence over it. */
function over({ env, user, workdir }: DockerfileOutcome, config: PlannedConfig): PlannedConfig {
  return {
    ...config,
    env: { ...env, ...config.env },
    user: config.user ?? user,
    workdir: config.workdir ?? workdir,
  };
}

export interface SentFolder {
  readonly request: Partial<BuildRequest>;
  /** A tar archive. Nothing is read before it is. */
  readonly content: ReadableStream<Uint8Array>;
}

/** `useCache`: with the digests of what will be sent, so that the build begins where it differs from one before. */
export async function packFolder(
  { dir, context, app: { request } }: ReadFolder,
  useCache: boolean,
): Promise<SentFolder> {
  const { items, archive } = await packTree(dir, "", context.isLeftOut);
  const inputs = useCache ? planBuild(request).steps.flatMap((step) => step.inputs) : [];
  const digests = inputs.length > 0 ? { context_digests: await contextDigests(inputs, items) } : {};
  return { request: { ...(request as Partial<BuildRequest>), ...digests }, content: streamOf(archive) };
}

function streamOf(chunks: AsyncGenerator<Uint8Array>): ReadableStream<Uint8Array> {
  return new ReadableStream(
    {
      async pull(controller) {
        const { done, value } = await chunks.next();
        if (done === true) controller.close();
        else controller.enqueue(value);
      },
      cancel: async () => void (await chunks.return(undefined)),
    },
    // None waits: what is never sent would hold an open file.
    { highWaterMark: 0 },
  );
}
