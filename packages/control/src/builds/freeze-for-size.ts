// The freeze of a template, which can take longer than all steps of its build: the log says what it waits
// for.

import { setTimeout as sleep } from "node:timers/promises";
import type { ReadyCondition } from "@skerry/contract/host-api/templates";
import { unusedCommand } from "@skerry/build-plan/dockerfile/unused-command";
import { DEFAULT_SIZE } from "@skerry/contract/sizes";
import type { Context } from "../context.ts";
import type { TemplateConfig } from "../db/tables/template-tables.ts";
import type { HostClient } from "../host-client/host-client.ts";
import { imageOfBuild } from "./build-config.ts";
import { appendLines } from "./build-log-store.ts";
import type { BuildRow } from "./build-store.ts";

/**
 * Begins to say in the log for what the build waits, each time after twice as long, so that ten minutes are
 * eight lines.
 */
const FIRST_TOLD_S = 5;

export interface FreezingBuild {
  readonly row: BuildRow & { readonly execution_id: string };
  readonly client: HostClient;
  readonly stop: AbortSignal;
}

export function sizesOf({ sizes }: BuildRow["request"]): readonly string[] {
  return sizes ?? [DEFAULT_SIZE];
}

/** Says what is frozen, and of a command that the image has and nothing runs. */
export async function tellOfFreeze(context: Context, { row, client, stop }: FreezingBuild): Promise<void> {
  const { start } = row.config;
  const image = await imageOfBuild(row, client, stop);
  const first = start === undefined ? "" : "start it, wait until it is ready, and ";
  const text = `--- ${first}freeze it for ${sizesOf(row.request).join(", ")}`;
  const unused = unusedCommand(image?.command ?? null, start);
  await appendLines(context.db, { buildId: row.id, step: null, texts: [...unused, text] });
}

export async function freezeFor(
  context: Context,
  { row, client, stop }: FreezingBuild,
  size: string,
): Promise<void> {
  const startedMs = performance.now();
  const tell = (text: string) => appendLines(context.db, { buildId: row.id, step: null, texts: [text] });
  const frozen = client.templates.freeze(row.template_id, size, stop);
  const waits = waitText(row.config.start);
  await (waits === undefined ? frozen : tellWhile(frozen, (seconds) => tell(`${seconds} s: ${waits}`)));
  const took = ((performance.now() - startedMs) / 1_000).toFixed(1);
  await tell(`frozen for ${size} in ${took} s`);
}

/** Undefined where nothing is waited for but the boot. */
function waitText(start: TemplateConfig["start"]): string | undefined {
  if (start?.ready === undefined) return undefined;
  return `boots, and waits until ${conditionText(start.ready)}, for ${start.timeout_ms / 1_000} s at most`;
}

const SHOWN_MAX_CHARS = 80;

function conditionText(ready: ReadyCondition): string {
  switch (ready.kind) {
    case "port":
      return `its start command listens to port ${ready.port}`;
    case "http":
      return `port ${ready.port} answers GET ${shortened(ready.path)}`;
    case "command":
      return `this ends with 0: ${shortened(ready.command)}`;
    case "file":
      return `there is ${shortened(ready.path)}`;
  }
}

function shortened(text: string): string {
  const line = text.replaceAll(/\s+/g, " ");
  return line.length > SHOWN_MAX_CHARS ? `${line.slice(0, SHOWN_MAX_CHARS).toWellFormed()}…` : line;
}

/** Resolves as `work` does, and tells meanwhile how many seconds it has taken. */
async function tellWhile(work: Promise<void>, tell: (seconds: number) => Promise<unknown>): Promise<void> {
  const over = new AbortController();
  const settled = work.catch(() => undefined).finally(() => over.abort());
  for (let seconds = FIRST_TOLD_S, before = 0; ; before = seconds, seconds *= 2) {
    await sleep((seconds - before) * 1_000, undefined, { signal: over.signal }).catch(() => undefined);
    if (over.signal.aborted) break;
    await tell(seconds);
  }
  await settled;
  await work;
}
