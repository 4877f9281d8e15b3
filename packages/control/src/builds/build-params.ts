// What a request for a build asks for, with every default filled in and every bound checked, as the steps that carry it out.

import type { BuildRequest } from "@skerry/contract/builds/build-request";
import type { BuildPlan } from "@skerry/build-plan/build-plan";
import { basesOf } from "@skerry/build-plan/dockerfile/dockerfile-instructions";
import { planBuild } from "@skerry/build-plan/plan/plan-build";
import { EMPTY_DISK_GIB } from "@skerry/build-plan/scripts/builder-scripts";
import { SkerryError } from "@skerry/contract/errors";
import { isId } from "@skerry/contract/ids";
import type { VmBuild } from "@skerry/contract/host-api/templates";
import { DEFAULT_SIZE, type Size } from "@skerry/contract/sizes";
import { DEFAULT_TAG, parsePinnedName } from "@skerry/contract/templates/template-name";
import type { Caller } from "../caller.ts";
import type { Context } from "../context.ts";
import type { TemplateConfig } from "../db/tables/template-tables.ts";
import type { Found } from "../capacity/reservation.ts";
import { defaultBuildEgress } from "./build-egress.ts";
import { checkTemplateName, findOwnTemplate } from "../templates/own-templates.ts";
import { readableSnapshot } from "../snapshots/snapshots.ts";
import { builtInNames } from "../templates/templates.ts";
import { checkEnv } from "../values/check-env.ts";
import { openAsked, refuseTwice } from "../vms/creation/vm-secrets.ts";
import { readDurationWithin } from "../values/durations.ts";
import { readSize } from "../values/sizes.ts";
import { refuseInject } from "../vms/egress/inject-params.ts";
import { readEgressParams, type EgressParams } from "../vms/egress/egress-params.ts";
import type { SnapshotRow } from "../snapshots/snapshot-row.ts";
import type { OwnTemplateRow } from "../templates/own-template-rows.ts";

const TIMEOUT_DEFAULT = "30m";
const TIMEOUT_BOUNDS = { minMs: 1_000, maxMs: 2 * 3_600_000 };
const SIZE_DEFAULT = "shared-cpu-4x";
/** What `start` may take until it is ready. */
const READY_WITHIN_MS = 300_000;
/** In an error. */
const NAMED_PATHS_MAX = 5;
/** Of a Dockerfile, that are looked up. */
const BASES_MAX = 20;
/** Where nothing is built upon, any host will do that has this template, which all have. */
const ANYWHERE = "base";

export interface BuildParams {
  readonly name: string;
  readonly tag: string;
  /** Resource that the version is for; null: it is the organization's own. */
  readonly ownerId: string | null;
  readonly request: BuildRequest;
  readonly plan: BuildPlan;
  readonly config: TemplateConfig;
  readonly size: Size;
  readonly timeoutMs: number;
  /** Of each step; null: as long as the build has. */
  readonly stepTimeoutMs: number | null;
  readonly egress: EgressParams;
  /** The template whose host is needed. */
  readonly placeAt: string;
  /** That template, where it is the organization's own; of a snapshot the one that its sandbox was made of. */
  readonly own: OwnTemplateRow | undefined;
  /** What it stands on; its files are on one host. */
  readonly snapshot: SnapshotRow | undefined;
}

/** Throws for what can be told before anything is built. */
export async function readBuildParams(
  context: Context,
  caller: Caller,
  asked: BuildRequest,
): Promise<Omit<BuildParams, "ownerId">> {
  const builtIn = await builtInNames(context);
  const from = asked.from ?? (await templateOfDockerfile(context, caller, asked.dockerfile, builtIn));
  const request = from === undefined ? asked : { ...asked, from };
  checkUnpinned(request, from);
  const { snapshot, own } = await originOf(context, caller, from);
  const plan = planBuild(request, own && inheritedOf(own.config));
  checkUnread(request);
  checkContext(request);
  checkDigests(request, plan);
  checkEnv(plan.config.env);
  await checkSecrets(context, caller, request);
  const { env, user, workdir } = plan.config;
  const start = startOf(request.start);
  const bounds = readBuildBounds(context, request);
  const { size } = bounds;
  return {
    name: checkTemplateName(request.name, builtIn),
    tag: request.tag ?? DEFAULT_TAG,
    request: { ...request, sizes: readFrozenSizes(request.sizes, size) },
    plan,
    config: { env, user, workdir, ...(start !== undefined && { start }) },
    ...bounds,
    stepTimeoutMs:
      request.step_timeout === undefined
        ? null
        : readDurationWithin("step_timeout", request.step_timeout, TIMEOUT_BOUNDS),
    placeAt: placeOf(plan, snapshot),
    snapshot,
    own,
  };
}

/** What its microVM may take and reach. */
export function readBuildBounds(
  context: Context,
  { size, timeout, egress }: Pick<BuildRequest, "size" | "timeout" | "egress">,
): Pick<BuildParams, "size" | "timeoutMs" | "egress"> {
  return {
    size: readSize(size ?? SIZE_DEFAULT),
    timeoutMs: readDurationWithin("timeout", timeout ?? TIMEOUT_DEFAULT, TIMEOUT_BOUNDS),
    egress: readBuildEgress(context, egress),
  };
}

/** What the Dockerfile begins on, where that is a template: of several the one of the last stage. */
async function templateOfDockerfile(
  { db }: Context,
  { orgId }: Caller,
  { text, args }: NonNullable<BuildRequest["dockerfile"]> = {},
  builtIn: readonly string[],
): Promise<string | undefined> {
  for (const name of text === undefined ? [] : basesOf(text, args).slice(0, BASES_MAX)) {
    const isTemplate = builtIn.includes(name) || (await findOwnTemplate(db, orgId, name)) !== undefined;
    if (isTemplate) return name;
  }
  return undefined;
}

/** What `from` names, where that is the organization's own. Of a snapshot it is its template that says what holds in its VMs. */
async function originOf(
  context: Context,
  caller: Caller,
  from: string | undefined,
): Promise<{
  readonly snapshot: SnapshotRow | undefined;
  readonly own: OwnTemplateRow | undefined;
}> {
  if (from === undefined) return { snapshot: undefined, own: undefined };
  const snapshot = isId("snapshot", from) ? await readableSnapshot(context, caller, from) : undefined;
  const own = await findOwnTemplate(context.db, caller.orgId, snapshot?.template ?? from);
  return { snapshot, own };
}

/** A snapshot's host is said beside it. */
function placeOf(plan: BuildPlan, snapshot: SnapshotRow | undefined): string {
  return snapshot === undefined ? (plan.on?.template ?? ANYWHERE) : ANYWHERE;
}

/** What the steps stand on, as the host that was found has it. */
export function targetOf(
  { plan, snapshot }: Pick<BuildParams, "plan" | "snapshot">,
  { template, own }: Pick<Found, "template" | "own">,
): VmBuild {
  if (snapshot !== undefined)
    return { on: { kind: "snapshot", snapshot_id: snapshot.id }, disk_gib: snapshot.disk_gib };
  if (plan.on === null) return { on: { kind: "empty" }, disk_gib: EMPTY_DISK_GIB };
  if (own !== undefined) return { on: { kind: "image", image: own.image }, disk_gib: own.disk_gib };
  return { on: { kind: "template", template: template.name }, disk_gib: template.disk_gib };
}

/** Names of the sizes to freeze ahead. None is larger than the build's own: the build was given room for that, and no more. */
function readFrozenSizes(asked: readonly string[] = [DEFAULT_SIZE], own: Size): string[] {
  const frozen = asked.map(readSize);
  const index = frozen.findIndex(({ vcpus, memory_mib }) => vcpus > own.vcpus || memory_mib > own.memory_mib);
  if (index < 0) return frozen.map(({ name }) => name);
  const field = `sizes[${index}]`;
  throw new SkerryError(
    "invalid_build",
    `\`${field}\`, ${frozen[index]?.name}, is larger than the size of the build, ${own.name}.`,
    {
      remediation:
        "Give the build a `size` with as many vCPUs and as much memory, or leave this one out: it is frozen when it is first used.",
      context: { field },
    },
  );
}

function inheritedOf({
  env,
  user,
  workdir,
}: TemplateConfig): Pick<TemplateConfig, "env" | "user" | "workdir"> {
  return { env, user, workdir };
}

/** Within a Dockerfile's build the template is an image of that name, whose digest is another. */
function checkUnpinned({ dockerfile }: BuildRequest, from = ""): void {
  if (dockerfile === undefined || parsePinnedName(from) === undefined) return;
  throw new SkerryError(
    "invalid_build",
    `A Dockerfile cannot stand on ${from}: it knows templates by their tags.`,
    {
      remediation:
        "Give the version a tag (`skerry template tag NAME:TAG NAME@DIGEST`), and say that in `FROM` or `from`.",
      context: { field: "from" },
    },
  );
}

function checkUnread({ steps = [], dockerfile, context, image, archive, git }: BuildRequest): void {
  if (context !== true || git !== undefined || steps.length > 0) return;
  if ((dockerfile ?? archive ?? image) !== undefined) return;
  throw new SkerryError("bad_request", "Nothing says what is to be built of the context.", {
    remediation:
      'Give "steps" or "dockerfile". `skerry template build FOLDER` detects what a folder is, and so does a build of "git".',
    context: { field: "context" },
  });
}

function checkContext({ steps = [], dockerfile, context, git, archive }: BuildRequest): void {
  if (git !== undefined && context === true)
    throw new SkerryError("bad_request", '"git" is the context, and "context" says that one is sent.', {
      remediation: "Give one of them.",
      context: { field: "context" },
    });
  if (context === true || git !== undefined) return;
  const readers = {
    dockerfile: dockerfile !== undefined,
    archive: archive === true,
    steps: steps.some(({ copy }) => copy !== undefined),
  };
  const field = Object.entries(readers).find(([, isReader]) => isReader)?.[0];
  if (field === undefined) return;
  throw new SkerryError(
    "bad_request",
    `"${field}" needs a context, and "context" does not say that there is one.`,
    {
      remediation:
        'Set "context" to true, and send the context as a tar archive when the build has been created.',
      context: { field: "context" },
    },
  );
}

function readBuildEgress(context: Context, egress: BuildRequest["egress"]): EgressParams {
  refuseInject(egress);
  return readEgressParams(egress ?? defaultBuildEgress(context));
}

/** Throws where one could not be given now. */
async function checkSecrets(
  context: Context,
  caller: Caller,
  { secrets = [], dockerfile }: BuildRequest,
): Promise<void> {
  if (secrets.length === 0) return;
  if (dockerfile === undefined)
    throw new SkerryError("bad_request", '"secrets" are for a Dockerfile, and there is none.', {
      remediation:
        'Give "dockerfile", whose `RUN --mount=type=secret,id=NAME` reads them, or leave them out.',
      context: { field: "secrets" },
    });
  refuseTwice(secrets, {});
  await openAsked(context, caller, secrets);
}

/** The request is kept, so it tells nothing that no step asks for. */
function checkDigests({ context_digests = {} }: BuildRequest, { steps }: BuildPlan): void {
  const inputs = new Set(steps.flatMap((step) => step.inputs));
  const path = Object.keys(context_digests).find((each) => !inputs.has(each));
  if (path === undefined) return;
  throw new SkerryError("bad_request", '"context_digests" has a path that no step reads.', {
    remediation:
      inputs.size === 0
        ? "Leave it out."
        : `The steps read ${[...inputs]
            .slice(0, NAMED_PATHS_MAX)
            .map((input) => JSON.stringify(input))
            .join(", ")}${inputs.size > NAMED_PATHS_MAX ? " and others" : ""}.`,
    context: { field: "context_digests", path },
  });
}

/** As hosts take it. Throws where the condition is none, or is several. */
export function startOf(start: BuildRequest["start"]): TemplateConfig["start"] {
  if (start === undefined) return undefined;
  const { command, ready } = start;
  if (ready === undefined) return { command, timeout_ms: READY_WITHIN_MS };
  const { port, http, command: probe, file } = ready;
  const given = [http ?? port, probe, file].filter((one) => one !== undefined);
  if (given.length !== 1)
    throw new SkerryError("bad_request", '"start.ready" needs one of `port`, `http`, `command` and `file`.', {
      remediation: "A `command` can look at several things.",
      context: { field: "start.ready" },
    });
  const within = { command, timeout_ms: READY_WITHIN_MS };
  if (http !== undefined) return { ...within, ready: { kind: "http", port: port ?? 80, path: http } };
  if (port !== undefined) return { ...within, ready: { kind: "port", port } };
  if (probe !== undefined) return { ...within, ready: { kind: "command", command: probe } };
  return { ...within, ready: { kind: "file", path: file ?? "" } };
}
