// `--watch` of lists: what is listed now, and again when it has changed, until Ctrl-C.

import { setTimeout } from "node:timers/promises";
import type { ResourceEventKind } from "@skerry/contract/events/resource-event";
import type { Skerry } from "@skerry/sdk";
import { Option, type Command } from "commander";
import type { Cli } from "./cli.ts";

export interface WatchFlags {
  readonly watch?: boolean;
  readonly json?: boolean;
}

/** What was listed: as JSON, and how it is shown to a person. */
export interface Listing {
  readonly json: unknown;
  readonly show: () => Promise<void>;
}

interface Watched {
  readonly client: Skerry;
  readonly flags: WatchFlags;
  /** Of what is listed. */
  readonly kinds: readonly ResourceEventKind[];
  /** The token may not be able to read all of them. */
  readonly someMayBeHidden?: boolean;
  readonly list: () => Promise<Listing>;
}

/** However much changes, it is listed no more often. */
const AGAIN_AFTER_MS = 1_000;

export function addWatchFlag(command: Command): Command {
  return command.addOption(
    new Option(
      "-w, --watch",
      "list again when something has changed, until Ctrl-C; with --json a list a line",
    ),
  );
}

export async function listOrWatch(cli: Cli, watched: Watched): Promise<void> {
  if (watched.flags.watch === true) return watch(cli, watched);
  const { json, show } = await watched.list();
  return watched.flags.json === true ? cli.output.json(json) : show();
}

/** It is followed first and listed then, so that no change falls between the two. */
async function watch(cli: Cli, { client, flags, kinds, someMayBeHidden, list }: Watched): Promise<void> {
  const { signal, output } = cli;
  const changes = client.events(someMayBeHidden === true ? {} : { kinds }, { signal });
  let [isStale, listedMs, last] = [true, -Infinity, ""];
  for await (const change of changes) {
    if ((change.type === "changed" && kinds.includes(change.kind)) || change.type === "reset") isStale = true;
    // What has changed is told to its end before it is listed, and while it goes on and on it is listed now and then.
    const waitMs = listedMs + AGAIN_AFTER_MS - performance.now();
    if (!isStale || (change.type !== "synced" && waitMs > 0)) continue;
    await setTimeout(Math.max(0, waitMs), undefined, { signal }).catch(() => signal.throwIfAborted());
    listedMs = performance.now();
    const { json, show } = await list();
    isStale = false;
    const text = JSON.stringify(json);
    if (text === last) continue;
    if (flags.json === true) await output.jsonLine(json);
    else {
      await output.beginAgain(last !== "");
      await show();
    }
    last = text;
  }
}
