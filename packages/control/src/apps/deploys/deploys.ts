// Deploys and releases as callers ask for them.

import type { Build } from "@skerry/contract/builds/build";
import type { Deploy } from "@skerry/contract/apps/deploy";
import { isDeployOver } from "@skerry/contract/apps/deploy-status";
import type { DeployCreateRequest, Release } from "@skerry/contract/apps/release";
import { parseDuration } from "@skerry/contract/durations";
import { SkerryError } from "@skerry/contract/errors";
import { isId, newId } from "@skerry/contract/ids";
import { buildCreation } from "../../builds/build-creation.ts";
import { cancelBuild } from "../../builds/cancel-build.ts";
import type { Caller } from "../../caller.ts";
import type { Context } from "../../context.ts";
import type { Queries } from "../../db/database.ts";
import { Attempt, type Creation } from "../../idempotency/create-once.ts";
import { ofApp, ofOrganization, requireSecrets, requireToRead } from "../../secrets/secrets.ts";
import { refuseTwice } from "../../vms/creation/vm-secrets.ts";
import { getTemplate } from "../../templates/templates.ts";
import { checkEnv } from "../../values/check-env.ts";
import { readPage, type Page, type PageParams } from "../../values/page.ts";
import {
  activeDeploy,
  findDeploy,
  findRelease,
  insertDeploy,
  insertRelease,
  listDeploys,
  listReleases,
  lockApp,
  proceed,
  type AppRow,
  type DeployRow,
  type ReleaseRow,
} from "../app-store.ts";
import { templateNameOf } from "../app-templates.ts";
import { ownSecretNames } from "../app-secrets.ts";
import type { EnvChanges, ReleaseSecret } from "../app-tables.ts";
import { appNotFound, DEPLOYER, getAppRow, refuseDeleting } from "../app-rows.ts";
import { readManifest } from "./deploy-params.ts";
import { takePorts } from "../edge/tcp-ports.ts";
import { shownDeploy, shownRelease } from "./shown-deploys.ts";
import { giveBack, takeOver, withChanges } from "./staged-env.ts";

/** Its environment, secrets and manifest together. Twenty of each app are kept. */
export const RELEASE_MAX_BYTES = 64 * 1024;

type NewRelease = Pick<ReleaseRow, "template" | "env" | "secrets" | "manifest">;

export function deployCreation(
  context: Context,
  caller: Caller,
  { id: appId, request }: { readonly id: string; readonly request: DeployCreateRequest },
): Creation<Deploy> {
  return {
    async create(attempt) {
      const app = await getAppRow(context.db, caller, appId);
      const { build, staged, ...release } = await newRelease(context, caller, { app, request });
      const write = async (transaction: Queries): Promise<Deploy> => {
        const locked = await lockApp(transaction, caller.orgId, appId);
        if (locked === undefined) throw appNotFound(appId);
        refuseDeleting(locked);
        await takePorts(context, transaction, { app: locked, manifest: release.manifest });
        const superseded = await activeDeploy(transaction, appId);
        if (superseded !== undefined) await giveBack(transaction, superseded);
        const number = await insertRelease(transaction, locked, { ...release, created_by: caller.userId });
        const row = await insertDeploy(
          transaction,
          {
            ...{ id: newId("deploy"), app_id: appId, org_id: caller.orgId },
            ...{ release: number, build_id: build?.id ?? null, created_by: caller.userId },
          },
          parseDuration(release.manifest.timeout) ?? 0,
        );
        await takeOver(transaction, row, staged);
        const shown = shownDeploy(row);
        await attempt.done(transaction, shown);
        return shown;
      };
      const deploy = await context.db
        .transaction()
        .execute(write)
        .catch(async (error: unknown) => {
          // One that is not canceled here ends when its context does not come.
          if (build !== undefined)
            await cancelBuild(context, caller, build.id).catch((cause: unknown) =>
              context.log.warn({ err: cause, build_id: build.id }, "the build of no deploy goes on"),
            );
          throw error;
        });
      context.wake(DEPLOYER);
      return deploy;
    },
  };
}

interface Wanted {
  readonly app: AppRow;
  readonly request: DeployCreateRequest;
}

/**
 * Takes what the request leaves out from the release before. A rollback is a release too, and gets a number
 * of its own.
 */
async function newRelease(
  context: Context,
  caller: Caller,
  { app, request }: Wanted,
): Promise<NewRelease & { readonly build: Build | undefined; readonly staged: EnvChanges }> {
  const { template, image, build: asked, release } = request;
  requireOneBeginning(request);
  const before = await releaseBefore(context, app.id, release ?? app.live);
  if (release !== undefined && (before?.template ?? null) === null) throw releaseNotFound(release);
  const staged = await stagedFor(context.db, app, release);
  const own = await ownSecretNames(context, caller, app.id);
  const content = contentOf(request, { before, own, staged });
  await checkContent(context, caller, { app, content });
  const rest = { ...content, staged, build: undefined };
  if (release !== undefined) return { ...rest, template: before?.template ?? null };
  if (template !== undefined) return { ...rest, template: await versionOf(context, caller, template) };
  const name = templateNameOf(app);
  const wish = { ...(image === undefined ? asked : { image }), name };
  const creation = buildCreation(context, caller, { request: wish, ownerId: app.id });
  const build = await creation.create(new Attempt(undefined, () => undefined));
  return { ...rest, template: build.template_id, build };
}

function requireOneBeginning({ template, image, build, release }: DeployCreateRequest): void {
  if ([template, image, build, release].filter((one) => one !== undefined).length === 1) return;
  throw new SkerryError("bad_request", "Nothing says, or several fields say, what is deployed.", {
    remediation: 'Give exactly one of "template", "image", "build" and "release".',
    context: { field: "template" },
  });
}

/**
 * Those that wait, and those of the deploy that is about to be superseded. None where an earlier release
 * comes back: it comes as it was.
 */
async function stagedFor(
  db: Queries,
  { id, live, staged_env: staged }: AppRow,
  release: number | undefined,
): Promise<EnvChanges> {
  if (release !== undefined && release !== live) return {};
  return { ...(await activeDeploy(db, id))?.staged_env, ...staged };
}

async function releaseBefore(
  { db }: Context,
  appId: string,
  number: number | null,
): Promise<ReleaseRow | undefined> {
  return number === null ? undefined : findRelease(db, appId, number);
}

function releaseNotFound(number: number): SkerryError {
  return new SkerryError("release_not_found", `The app has no release ${number} any more.`, {
    remediation: "`GET /v1/apps/{id}/releases` lists those that are kept.",
    context: { field: "release", value: number },
  });
}

type Content = Omit<NewRelease, "template">;

interface Given {
  readonly before: ReleaseRow | undefined;
  /** Names of the app's own secrets. */
  readonly own: readonly string[];
  readonly staged: EnvChanges;
}

function contentOf(
  {
    template: _template,
    image: _image,
    build: _build,
    release: _release,
    env,
    env_changes: changes = {},
    secrets,
    ...manifest
  }: DeployCreateRequest,
  { before, own, staged }: Given,
): Content {
  const asked = (secrets ?? before?.secrets ?? []).filter(
    (one: ReleaseSecret) => one.own !== true && !own.includes(one.as ?? one.name),
  );
  return {
    env: checkEnv(withChanges(env ?? before?.env ?? {}, { ...staged, ...changes })),
    secrets: [...asked, ...own.map((name) => ({ name, own: true as const }))],
    manifest: readManifest(manifest, before?.manifest),
  };
}

/** Secrets of the release before need the scope, too: who says the command reads them. */
async function checkContent(
  context: Context,
  caller: Caller,
  { app, content }: { readonly app: AppRow; readonly content: Content },
): Promise<void> {
  if (content.secrets.length > 0) {
    requireToRead(caller);
    const names = content.secrets.map(({ name }) => name);
    await requireSecrets(context, [ofOrganization(caller), ofApp(caller, app.id)], names);
    refuseTwice(content.secrets, content.env);
  }
  const bytes = Buffer.byteLength(JSON.stringify(content));
  if (bytes <= RELEASE_MAX_BYTES) return;
  throw new SkerryError(
    "invalid_manifest",
    `A release has at most ${RELEASE_MAX_BYTES / 1024} KiB as JSON.`,
    {
      remediation: "Put long texts into the template, and name their files.",
      context: { bytes, limit: RELEASE_MAX_BYTES },
    },
  );
}

/** A version for good, also where a tag is moved afterwards. What is built in is the same by its name. */
async function versionOf(context: Context, caller: Caller, asked: string): Promise<string> {
  const found = await getTemplate(context, caller, asked);
  return found.digest === null ? found.name : found.id;
}

export async function listDeploysOf(
  { db }: Context,
  caller: Caller,
  { id, page }: { readonly id: string; readonly page: PageParams },
): Promise<Page<Deploy>> {
  await getAppRow(db, caller, id);
  const found = await readPage("deploy", page, (before, limit) => listDeploys(db, id, { before, limit }));
  return { ...found, items: found.items.map(shownDeploy) };
}

export interface DeployRef {
  readonly id: string;
  readonly deploy: string;
}

export async function getDeploy({ db }: Context, caller: Caller, ref: DeployRef): Promise<Deploy> {
  await getAppRow(db, caller, ref.id);
  return shownDeploy(await deployRow(db, ref));
}

/** The deployer takes back what runs of it, and the release before goes on. */
export async function cancelDeploy(context: Context, caller: Caller, ref: DeployRef): Promise<Deploy> {
  await getAppRow(context.db, caller, ref.id);
  for (;;) {
    const row = await deployRow(context.db, ref);
    if (isDeployOver(row.status))
      throw new SkerryError("deploy_over", `The deploy is ${row.status}, and cannot be canceled any more.`, {
        remediation: "Deploy an earlier release to go back to it.",
        context: { status: row.status },
      });
    const canceled = await context.db.transaction().execute(async (transaction) => {
      await lockApp(transaction, caller.orgId, ref.id);
      const over = await proceed(transaction, row, "canceled");
      if (over !== undefined) await giveBack(transaction, over);
      return over;
    });
    if (canceled === undefined) continue;
    context.wake(DEPLOYER);
    return shownDeploy(canceled);
  }
}

async function deployRow(db: Context["db"], { id, deploy }: DeployRef): Promise<DeployRow> {
  const row = isId("deploy", deploy) ? await findDeploy(db, id, deploy) : undefined;
  if (row !== undefined) return row;
  throw new SkerryError("deploy_not_found", "The app has no such deploy.", {
    context: { id: deploy.slice(0, 100) },
  });
}

export async function listReleasesOf({ db }: Context, caller: Caller, id: string): Promise<Page<Release>> {
  await getAppRow(db, caller, id);
  return { items: (await listReleases(db, id)).map(shownRelease), next_cursor: null };
}
