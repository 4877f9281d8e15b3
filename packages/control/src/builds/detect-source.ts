// A repository that was cloned in the builder: what it is decides the pure function that the command line asks of a folder. Where it stands on a template, the
// microVM begins anew on that one's disk, with the same commit. All that is read here is a guest's, so it is bounded, and means what a request might say.

import type { ContextFiles, PlanRequest } from "@skerry/build-plan/build-plan";
import { builtInTags } from "@skerry/contract/templates/template-name";
import { GIT_COMMIT_FILE, GIT_FILES_FILE, CONTEXT_FOLDER } from "@skerry/build-plan/scripts/builder-scripts";
import { CONTEXT_ENTRIES_MAX, CONTEXT_PATH_MAX_BYTES } from "@skerry/contract/builds/context-bounds";
import { detectApp, DETECTED_FILES, withEnv } from "@skerry/build-plan/detect/detect-app";
import { basesOf } from "@skerry/build-plan/dockerfile/dockerfile-instructions";
import { DETECTED_FILE_MAX_BYTES } from "@skerry/build-plan/detect/manifests";
import { isUndetected, planBuild } from "@skerry/build-plan/plan/plan-build";
import { SkerryError } from "@skerry/contract/errors";
import type { Context } from "../context.ts";
import type { Database } from "../db/database.ts";
import type { HostClient } from "../host-client/host-client.ts";
import type { VmRef } from "../host-client/vm-ref.ts";
import { listHostRows } from "../hosts/host-rows.ts";
import { findTemplate } from "../templates/templates.ts";
import { checkEnv } from "../values/check-env.ts";
import { startOf, targetOf } from "./build-params.ts";
import { readGuestText } from "./read-guest-file.ts";
import { appendLines } from "./build-log-store.ts";
import { beginAnew, noteCommit, type BuildRow } from "./build-store.ts";
import { plannedRows } from "./planned-rows.ts";

const COMMIT_PATTERN = /^[0-9a-f]{40}([0-9a-f]{24})?$/;
const LIST_MAX_BYTES = 8 * 1024 * 1024;

interface Cloned {
  readonly row: BuildRow;
  readonly client: HostClient;
  readonly vm: VmRef;
  /** Of each step; null for as long as the build has. */
  readonly timeoutMs: number | null;
  readonly stop: AbortSignal;
}

/** Keeps the commit. True where the build begins anew, by what was detected. Throws `app_not_detected` and `invalid_build`. */
export async function afterClone(
  context: Context,
  { row, client, vm, timeoutMs, stop }: Cloned,
): Promise<boolean> {
  const read = async (path: string, maxBytes: number): Promise<string> => {
    const text = await readGuestText(client, vm, { path, maxBytes }, stop);
    if (text !== undefined) return text;
    throw new SkerryError("context_too_large", `The repository's ${path} is larger than ${maxBytes} bytes.`);
  };
  const commit = (await read(GIT_COMMIT_FILE, 100)).trim();
  if (!COMMIT_PATTERN.test(commit)) throw new SkerryError("build_step_failed", "The clone has no commit.");
  if (!isUndetected(row.request) || row.commit !== null) {
    await noteCommit(context.db, row.id, commit);
    return false;
  }
  const files = await filesOf(read);
  const app = detectApp(files);
  const { request } = row;
  const found =
    app.request.dockerfile === undefined
      ? withEnv(app, request.env).request
      : await dockerfileRequest(context, row, (await textOf(read, files.links, "Dockerfile")) ?? "");
  const wanted = { ...found, ...request, env: { ...found.env, ...request.env } };
  const plan = planBuild({ ...wanted, commit });
  checkEnv(plan.config.env);
  const start = startOf(wanted.start);
  const { env, user, workdir } = plan.config;
  const target = targetOf(
    { plan, snapshot: undefined },
    {
      own: undefined,
      template: await templateOn(context, row, plan.on?.template),
    },
  );
  const begun = await context.db.transaction().execute(async (transaction) => {
    const config = { env, user, workdir, ...(start !== undefined && { start }) };
    const steps = plannedRows(row, plan, timeoutMs);
    if (!(await beginAnew(transaction, row, { commit, target, config, steps }))) return false;
    await appendLines(transaction, { buildId: row.id, step: null, texts: [...app.why] });
    return true;
  });
  // Where this is not done, `startBuildVm` does it.
  if (begun) await client.destroyVm(vm, stop);
  return true;
}

/**
 * Build of a repository that has a Dockerfile alone. Where FROM names a built-in template, the build stands
 * on that template's disk.  `FROM node:22` is an image of a registry, as it is everywhere else, and not the
 * tag of ours.
 */
async function dockerfileRequest({ db }: Context, { host_id }: BuildRow, text: string): Promise<PlanRequest> {
  const templates = await templatesAt(db, host_id);
  const from = basesOf(text).find(
    (name) => !builtInTags.has(name) && findTemplate(templates, name) !== undefined,
  );
  return { dockerfile: {}, ...(from === undefined ? {} : { from }) };
}

async function templatesAt(db: Database, hostId: string) {
  return (await listHostRows(db)).find(({ id }) => id === hostId)?.templates ?? [];
}

/** Of an app that is detected it is one that is built in. */
async function templateOn({ db }: Context, { host_id }: BuildRow, name = "base") {
  const template = findTemplate(await templatesAt(db, host_id), name);
  if (template === undefined)
    throw new SkerryError("unknown_template", `The host of the build has no template "${name}".`);
  return template;
}

type Read = (path: string, maxBytes: number) => Promise<string>;

interface ClonedFiles extends ContextFiles {
  /** Those of `files` that are links. */
  readonly links: ReadonlySet<string>;
}

async function filesOf(read: Read): Promise<ClonedFiles> {
  const listed = (await read(GIT_FILES_FILE, LIST_MAX_BYTES)).split("\0").filter((path) => path !== "");
  const links = new Set(listed.flatMap((path) => (path.endsWith("/") ? [path.slice(0, -1)] : [])));
  const files = listed.map((path) => (path.endsWith("/") ? path.slice(0, -1) : path));
  if (
    files.length > CONTEXT_ENTRIES_MAX ||
    files.some((path) => Buffer.byteLength(path) > CONTEXT_PATH_MAX_BYTES)
  )
    throw new SkerryError(
      "context_too_large",
      "The repository has too many files, or one whose path is too long.",
      {
        remediation: "Build a folder of it: `URL#REF:FOLDER`.",
      },
    );
  const there = new Set(files);
  const texts: Record<string, string> = {};
  for (const name of DETECTED_FILES) {
    const text = there.has(name) ? await textOf(read, links, name) : undefined;
    if (text !== undefined) texts[name] = text;
  }
  return { files: files.toSorted(), texts, links };
}

/** Undefined of a link, as in a folder of the command line's machine: it may lead to what has no end, or to a file of the builder. */
async function textOf(read: Read, links: ReadonlySet<string>, name: string): Promise<string | undefined> {
  return links.has(name) ? undefined : read(`${CONTEXT_FOLDER}/${name}`, DETECTED_FILE_MAX_BYTES);
}
