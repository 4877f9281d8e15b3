// How far a build of E2B's clients is, and what it has written.

import type { FastifyRequest } from "fastify";
import { SkerryError, type ErrorCode } from "@skerry/contract/errors";
import type { Build } from "@skerry/contract/builds/build";
import type { BuildStatus } from "@skerry/contract/builds/build-status";
import type { BuildLogLine } from "@skerry/contract/builds/build-log";
import { reservedTemplateNames } from "@skerry/contract/templates/template-name";
import { Type } from "typebox";
import { callerOf } from "../api/authenticate-hook.ts";
import { readBuildLog } from "../builds/build-logs.ts";
import { getBuild } from "../builds/builds.ts";
import type { Caller } from "../caller.ts";
import type { Context } from "../context.ts";
import { findOwnTemplate } from "../templates/own-templates.ts";
import { checker } from "./checked-body.ts";
import type { E2bHandler } from "./e2b-routes.ts";
import {
  TemplateFault,
  translateTemplate,
  type KeptTemplate,
  type TranslatedTemplate,
} from "./template-steps.ts";
import { findAskedBuild, type AskedBuild, type Fault } from "./template-store.ts";
import { idOfUuid, uuidOf } from "./uuid-ids.ts";

const LINES_MAX = 100;
const closed = { additionalProperties: false } as const;
const readStatusQuery = checker(
  Type.Object(
    {
      logsOffset: Type.Optional(Type.Integer({ minimum: 0 })),
      limit: Type.Optional(Type.Integer({ minimum: 0, maximum: LINES_MAX })),
      level: Type.Optional(Type.String({ maxLength: 10 })),
    },
    closed,
  ),
  "querystring",
);
const readLogsQuery = checker(
  Type.Object(
    {
      cursor: Type.Optional(Type.Integer({ minimum: 0 })),
      limit: Type.Optional(Type.Integer({ minimum: 0, maximum: LINES_MAX })),
      direction: Type.Optional(Type.Union([Type.Literal("forward"), Type.Literal("backward")])),
      level: Type.Optional(Type.String({ maxLength: 10 })),
      source: Type.Optional(Type.String({ maxLength: 20 })),
    },
    closed,
  ),
  "querystring",
);

/** Throws where the organization has asked for no such build of this template. */
export async function askedBuild(
  { db }: Context,
  { orgId }: Caller,
  { template, build }: { readonly template: string; readonly build: string },
): Promise<AskedBuild> {
  const asked = await findAskedBuild(db, orgId, idOfUuid("build", build));
  if (asked === undefined || asked.name !== template)
    throw new SkerryError("build_not_found", "There is no such build of this template.");
  return asked;
}

/** Of built-in ones whose programs fill the memory of the default. */
const builtInSizes: { readonly [name: string]: string | undefined } = { "code-interpreter": "shared-cpu-2x" };

/** That its build asked for; undefined for a template that these clients have not built, or with the default. */
export async function sizeOfTemplate(
  { db }: Context,
  { orgId }: Caller,
  asked: string,
): Promise<string | undefined> {
  if (reservedTemplateNames.includes(asked)) return builtInSizes[asked];
  const own = await findOwnTemplate(db, orgId, asked);
  if (own === undefined) return undefined;
  return (await findAskedBuild(db, orgId, own.build_id))?.size ?? undefined;
}

/** What is wrong with what was asked for, and where; undefined where that is not what has failed. */
export function faultOf(error: unknown, body: KeptTemplate): Fault | undefined {
  if (!(error instanceof SkerryError)) return undefined;
  const { code, message, context } = error;
  if (error instanceof TemplateFault) return { message, instruction: error.instruction };
  const place = places[code];
  if (place !== "instruction") return place === undefined ? undefined : { message, instruction: place };
  const [, index] = /^steps\[(\d+)\]/.exec(String(context?.["field"] ?? "")) ?? [];
  const { instructionOfStep } = translateTemplate(body);
  return { message, instruction: index === undefined ? null : (instructionOfStep[Number(index)] ?? null) };
}

const places: { readonly [Code in ErrorCode]?: 0 | null | "instruction" } = {
  ...{ unknown_template: 0, template_lost: 0 },
  ...{ context_missing: null, archive_refused: null },
  ...{ invalid_build: "instruction", invalid_env: "instruction" },
};

type E2bBuildStatus = "waiting" | "building" | "ready" | "error";

const statuses: Readonly<Record<BuildStatus, E2bBuildStatus>> = {
  ...{ queued: "building", building: "building", sealing: "building", freezing: "building" },
  ...{ ready: "ready", failed: "error", canceled: "error" },
};

interface Progress {
  readonly status: E2bBuildStatus;
  readonly reason?: { readonly message: string; readonly step?: string };
}

async function progressOf(context: Context, caller: Caller, asked: AskedBuild): Promise<Progress> {
  const { fault, body } = asked;
  if (fault !== null)
    return { status: "error", reason: { message: fault.message, ...stepOf(fault.instruction) } };
  if (body === null) return { status: "waiting" };
  const build = await findNative(context, caller, asked.id);
  // Its steps have just come.
  if (build === undefined) return { status: "building" };
  const status = statuses[build.status];
  if (status !== "error") return { status };
  return { status, reason: reasonOf(build, asked) };
}

function reasonOf({ error, steps }: Build, asked: AskedBuild): NonNullable<Progress["reason"]> {
  if (error === null) return { message: "The build was canceled.", step: "finalize" };
  const template = translated(asked);
  const { message, last_lines: lines, step } = error;
  const command = step === null ? undefined : commandOf(asked, template?.instructions[step]);
  const begin = step === null ? "" : `"${steps[step]?.name ?? ""}": `;
  // The command as it was asked for, and not as the step has it, which is run in a login shell.
  const said =
    command !== undefined && message.startsWith(begin)
      ? `failed to run command '${command}': ${inTheirWords(message.slice(begin.length))}`
      : message;
  return { message: [said, ...lines.slice(-5)].join("\n"), ...placeOf(step, template) };
}

/** E2B's clients know by these words that a user does not exist. The native words are those of RUN in `builder-scripts.ts` of `build-plan`. */
function inTheirWords(message: string): string {
  return message.replace(
    /^The template has no user (\S+)\.$/,
    "command failed: unauthenticated: invalid username: '$1'",
  );
}

/** Of an instruction that runs one. */
function commandOf({ body }: AskedBuild, instruction = 0): string | undefined {
  const { type, args } = (body as KeptTemplate | null)?.steps?.[instruction - 1] ?? {};
  return type === "RUN" ? args?.[0] : undefined;
}

async function findNative(context: Context, caller: Caller, id: string) {
  try {
    return (await getBuild(context, caller, id)).build;
  } catch (error) {
    if (error instanceof SkerryError && error.code === "build_not_found") return undefined;
    throw error;
  }
}

/** It was checked when it came, and what this process knew then it knows still. */
function translated({ body }: AskedBuild): TranslatedTemplate | undefined {
  try {
    return body === null ? undefined : translateTemplate(body as KeptTemplate);
  } catch {
    return undefined;
  }
}

/** What fails after the last instruction is the start of the template. */
function placeOf(step: number | null, template: TranslatedTemplate | undefined): { readonly step?: string } {
  if (step === null) return { step: "finalize" };
  return stepOf(template?.instructions[step] ?? null);
}

function stepOf(instruction: number | null): { readonly step?: string } {
  if (instruction === null) return {};
  return { step: instruction === 0 ? "base" : String(instruction) };
}

const buildOf = ({ params }: FastifyRequest) =>
  params as { readonly template: string; readonly build: string };

const templateBuildStatus: E2bHandler = async (context, request) => {
  const { logsOffset = 0, limit = LINES_MAX } = readStatusQuery(request.query);
  const caller = callerOf(request);
  const asked = await askedBuild(context, caller, buildOf(request));
  // Before the lines: what was written until its end is among them.
  const progress = await progressOf(context, caller, asked);
  const logEntries = await entriesOf(context, caller, { asked, after: logsOffset, limit });
  const logs = logEntries.map(({ message }) => message);
  return { templateID: asked.name, buildID: uuidOf(asked.id), ...progress, logEntries, logs };
};

interface Lines {
  readonly asked: AskedBuild;
  readonly after: number;
  readonly limit: number;
}

async function entriesOf(context: Context, caller: Caller, { asked, after, limit }: Lines) {
  const build = await findNative(context, caller, asked.id);
  if (build === undefined) return [];
  const { lines } = await readBuildLog(context, caller, { id: asked.id, after });
  const template = translated(asked);
  return lines.slice(0, limit).map((line) => entryOf(line, template));
}

function entryOf({ step, time, text }: BuildLogLine, template: TranslatedTemplate | undefined) {
  const instruction = step === null ? undefined : template?.instructions[step];
  return {
    timestamp: time,
    message: text,
    level: "info" as const,
    ...(instruction !== undefined && stepOf(instruction)),
  };
}

/** All of it is looked through: a log has at most some ten thousand lines. */
const PAGES_MAX = 100;

const templateBuildLogs: E2bHandler = async (context, request) => {
  const { cursor, limit = LINES_MAX, direction = "forward" } = readLogsQuery(request.query);
  const caller = callerOf(request);
  const asked = await askedBuild(context, caller, buildOf(request));
  const all: Awaited<ReturnType<typeof entriesOf>> = [];
  for (let pages = 0; pages < PAGES_MAX; pages++) {
    const some = await entriesOf(context, caller, { asked, after: all.length, limit: 1_000 });
    all.push(...some);
    if (some.length < 1_000) break;
  }
  const isForward = direction === "forward";
  const found = (isForward ? all : all.toReversed()).filter(({ timestamp }) => {
    const ms = Date.parse(timestamp);
    return cursor === undefined || (isForward ? ms >= cursor : ms <= cursor);
  });
  return { logs: found.slice(0, limit) };
};

export const templateProgressHandlers = { templateBuildStatus, templateBuildLogs };
