// Builds of templates for E2B's clients: the name first, then the files, then the steps, which are a build of ours.

import { createGunzip } from "node:zlib";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { FastifyRequest } from "fastify";
import { isBuildOver } from "@skerry/contract/builds/build-status";
import { SkerryError } from "@skerry/contract/errors";
import { newId } from "@skerry/contract/ids";
import { sizes } from "@skerry/contract/sizes";
import { TEMPLATE_NAME_PATTERN, TEMPLATE_TAG_PATTERN } from "@skerry/contract/templates/template-name";
import { Type } from "typebox";
import { callerOf } from "../api/authenticate-hook.ts";
import { createIdempotently } from "../api/create-idempotently.ts";
import { uploadContextParts } from "../builds/build-context.ts";
import { buildCreation } from "../builds/build-creation.ts";
import { getBuild } from "../builds/builds.ts";
import { cancelBuild } from "../builds/cancel-build.ts";
import type { Caller } from "../caller.ts";
import type { Context } from "../context.ts";
import { checkTemplateName } from "../templates/own-templates.ts";
import { builtInNames } from "../templates/templates.ts";
import { DEFAULT_TAG, nativeNameOf } from "./bare-names.ts";
import { checker } from "./checked-body.ts";
import { apiCredentials } from "./credentials.ts";
import type { E2bHandler } from "./e2b-routes.ts";
import { askedBuild, faultOf } from "./template-builds.ts";
import { archiveName, takeArchive, uploadLink } from "./template-archives.ts";
import { uploadRightOf } from "./upload-right.ts";
import { TemplateBody, translateTemplate, type KeptTemplate } from "./template-steps.ts";
import { baseOf } from "./template-starts.ts";
import {
  forgetSteps,
  insertAskedBuild,
  noteFault,
  noteSteps,
  OPEN_MAX,
  readArchive,
  refuseSteps,
  type Fault,
} from "./template-store.ts";
import { uuidOf } from "./uuid-ids.ts";

const closed = { additionalProperties: false } as const;
const readNewBuild = checker(
  Type.Object(
    {
      name: Type.Optional(Type.String({ maxLength: 300 })),
      alias: Type.Optional(Type.String({ maxLength: 300 })),
      tags: Type.Optional(Type.Array(Type.String({ maxLength: 128 }), { maxItems: 20 })),
      teamID: Type.Optional(Type.String({ maxLength: 100 })),
      cpuCount: Type.Optional(Type.Integer({ minimum: 1, maximum: 64 })),
      memoryMB: Type.Optional(Type.Integer({ minimum: 1, maximum: 1_048_576 })),
    },
    closed,
  ),
  "body",
);
const readBody = checker(TemplateBody, "body");

const createTemplateBuild: E2bHandler = async (context, request, reply) => {
  const { name: asked, alias, tags: further = [], cpuCount, memoryMB } = readNewBuild(request.body);
  const [name = "", ...ofName] = (asked ?? alias ?? "").split(":");
  checkName(checkTemplateName(name, await builtInNames(context)));
  const all = [...new Set([...ofName, ...further])];
  const tags = all.length === 0 ? [DEFAULT_TAG] : all.map((tag) => checkTag(tag));
  const id = newId("build");
  const size = sizeFor({ cpuCount, memoryMB });
  const { orgId } = callerOf(request);
  const open = await insertAskedBuild(context.db, { id, org_id: orgId, name, tags, size });
  if (open !== undefined) throw tooManyOpen(open);
  const buildID = uuidOf(id);
  return reply
    .code(202)
    .send({ templateID: name, buildID, public: false, names: [name], aliases: [name], tags });
};

function tooManyOpen(used: number): SkerryError {
  return new SkerryError(
    "quota_exceeded",
    `${used} builds of the organization wait for their steps, and no more than ${OPEN_MAX} may: send the steps of those that were begun, or try again later. A build without steps is forgotten after an hour.`,
    { context: { quota: "builds", used, requested: 1, limit: OPEN_MAX } },
  );
}

function checkName(name: string): void {
  if (new RegExp(TEMPLATE_NAME_PATTERN).test(name)) return;
  throw new SkerryError(
    "bad_request",
    `"${name.slice(0, 100)}" is no name of a template: 1 to 63 lower-case letters, digits and "-", with none of these at an end.`,
  );
}

export function checkTag(tag: string): string {
  if (new RegExp(TEMPLATE_TAG_PATTERN).test(tag)) return tag;
  throw new SkerryError(
    "bad_request",
    `"${tag.slice(0, 150)}" is no tag: letters, digits, "_", "." and "-".`,
  );
}

/** The smallest that has both; null where neither was asked for. */
function sizeFor({
  cpuCount = 1,
  memoryMB = 1,
}: {
  cpuCount?: number | undefined;
  memoryMB?: number | undefined;
}) {
  if (cpuCount === 1 && memoryMB === 1) return null;
  const [found] = sizes
    .filter(({ vcpus, memory_mib }) => vcpus >= cpuCount && memory_mib >= memoryMB)
    .toSorted((a, b) => a.memory_mib - b.memory_mib || a.vcpus - b.vcpus);
  if (found !== undefined) return found.name;
  throw new SkerryError("bad_request", `No size here has ${cpuCount} CPUs and ${memoryMB} MB of memory.`);
}

const paramsOf = ({ params }: FastifyRequest) =>
  params as { readonly template: string; readonly build: string; readonly hash: string };

const uploadFilesLink: E2bHandler = async (context, request, reply) => {
  const { hash } = paramsOf(request);
  if (!/^[0-9a-f]{64}$/.test(hash))
    throw new SkerryError("bad_request", "The hash is no SHA-256 in hexadecimal.");
  const { orgId } = callerOf(request);
  const { secretSha256 } = apiCredentials(context, request);
  return reply
    .code(201)
    .send(await uploadLink(context, request, { credentials: { secretSha256, orgId }, hash }));
};

export const uploadArchive: E2bHandler = async (context, request, reply) => {
  const right = await uploadRightOf(context, request);
  // Leaving the loop must not destroy the connection: the answer still has to go out.
  const content = request.raw.iterator({ destroyOnReturn: false });
  await takeArchive(context, right, content);
  return reply.code(200).send(null);
};

const startTemplateBuild: E2bHandler = async (context, request, reply) => {
  const caller = callerOf(request);
  const asked = await askedBuild(context, caller, paramsOf(request));
  const body = await standing(context, caller, readBody(request.body));
  if (!(await noteSteps(context.db, asked.id, body)))
    throw new SkerryError("build_over", "The steps of this build have come before.");
  try {
    const { request: native, hashes } = translateTemplate(body);
    const [tag, ...more_tags] = asked.tags;
    const size = asked.size === null ? {} : { sizes: [asked.size], ...buildSizeFor(asked.size) };
    const named = { name: asked.name, ...(tag !== undefined && { tag }), more_tags };
    const creation = buildCreation(context, caller, {
      request: { ...named, ...native, ...size },
      id: asked.id,
    });
    await createIdempotently(context, { request, reply }, creation);
    // The client waits for its answer, not for a microVM: it asks how far the build is.
    const { secretSha256 } = apiCredentials(context, request);
    if (hashes.length > 0)
      void sendFilesLater(context, caller, {
        ...{ id: asked.id, body, hashes, secretSha256 },
        gone: reply.server.ending,
      });
  } catch (error) {
    const fault = faultOf(error, body);
    if (fault === undefined) {
      // Nothing was begun, so the same may be asked for again.
      await forgetSteps(context.db, asked.id);
      throw error;
    }
    // The clients show where in the template it is, which they do for builds that have failed.
    await refuseSteps(context.db, asked.id, fault);
  }
  return reply.code(202).send(null);
};

/** With what it stands on, by the name that means that natively. */
async function standing(
  context: Context,
  caller: Caller,
  { fromImageRegistry, ...asked }: TemplateBody,
): Promise<KeptTemplate> {
  // It is kept, and a login must not be.
  const body = { ...asked, ...(fromImageRegistry !== undefined && { fromImageRegistry: {} }) };
  if (body.fromTemplate === undefined) return body;
  const fromTemplate = await nativeNameOf(context, caller, body.fromTemplate);
  const base = await baseOf(context, caller, fromTemplate);
  return { ...body, fromTemplate, ...(base !== undefined && { base }) };
}

/** What goes wrong is told as the end of the build. Where not even that can be noted, the build ends when its files have not come in time. */
async function sendFilesLater(
  context: Context,
  caller: Caller,
  { body, ...files }: Files & { readonly body: KeptTemplate },
): Promise<void> {
  const { id } = files;
  try {
    await sendFiles(context, caller, files);
  } catch (error) {
    context.log.warn({ err: error, build_id: id }, "the files of a build did not reach it");
    await endBuild(context, caller, { id, fault: faultOf(error, body) ?? unsent }).catch((failed: unknown) =>
      context.log.warn({ err: failed, build_id: id }, "a build without its files was not ended"),
    );
  }
}

const unsent: Fault = {
  message: "The files of the template did not reach its build: build again.",
  instruction: null,
};

async function endBuild(
  context: Context,
  caller: Caller,
  { id, fault }: { readonly id: string; readonly fault: Fault },
): Promise<void> {
  const { build } = await getBuild(context, caller, id);
  // It has ended by itself, and says why.
  if (isBuildOver(build.status)) return;
  await noteFault(context.db, id, fault);
  await cancelBuild(context, caller, id);
}

/** What is frozen must fit into the microVM that builds. */
function buildSizeFor(name: string): { readonly size?: string } {
  return name.startsWith("performance")
    ? { size: name }
    : { size: name === "shared-cpu-8x" ? name : "shared-cpu-4x" };
}

/** Its microVM is waited for by each of them: the first build on a host begins when the image that builds is there, which is made of packages. */
const ATTEMPTS = 6;

interface Files {
  readonly id: string;
  readonly hashes: readonly string[];
  /** Of the token that has sent them. */
  readonly secretSha256: string;
  readonly gone: AbortSignal;
}

async function sendFiles(
  context: Context,
  caller: Caller,
  { id, hashes, secretSha256, gone }: Files,
): Promise<void> {
  const { orgId } = caller;
  const nameOf = (hash: string) => archiveName({ credentials: { secretSha256, orgId }, hash });
  const parts = hashes.map((hash) => ({
    folder: hash,
    content: () => unpacked(readArchive(context.db, { orgId, hash: nameOf(hash) })),
  }));
  for (let left = ATTEMPTS; ; left--) {
    try {
      await uploadContextParts(context, caller, { id, parts, gone });
      return;
    } catch (error) {
      const isLate = error instanceof SkerryError && error.code === "host_unavailable";
      if (!isLate || left === 1) throw error;
    }
  }
}

/** A tar archive, also where it was packed once more. */
async function* unpacked(archive: AsyncGenerator<Buffer>): AsyncGenerator<Buffer> {
  const first = await archive.next();
  if (first.done === true) throw new SkerryError("context_missing", "The files of a step were not sent.");
  const whole = (async function* () {
    yield first.value;
    yield* archive;
  })();
  const isPacked = first.value[0] === 0x1f && first.value[1] === 0x8b;
  if (!isPacked) return yield* whole;
  const gunzip = createGunzip();
  const fed = pipeline(Readable.from(whole), gunzip);
  fed.catch(() => undefined); // heard of when it is read
  try {
    yield* gunzip as AsyncIterable<Buffer>;
    await fed;
  } catch (error) {
    if ((error as { readonly code?: string }).code?.startsWith("Z_") !== true) throw error;
    throw new SkerryError("archive_refused", "The archive of a step is not what gzip writes.", {
      cause: error,
    });
  }
}

export const templateBuildHandlers = { createTemplateBuild, uploadFilesLink, startTemplateBuild };
