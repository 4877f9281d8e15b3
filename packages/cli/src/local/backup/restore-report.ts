// What `skerry restore` says in the end.

import { printable } from "../../output/output.ts";
import { SETTINGS, type Manifest } from "./manifest.ts";
import type { TakenSettings } from "./restored-settings.ts";
import type { Layout } from "../system/layout.ts";
import { counted } from "../../output/counted.ts";

const SHOWN_MAX = 20;

export interface Restored {
  readonly joinedHosts: number;
  readonly settings: TakenSettings | undefined;
  /** Ids of root keys that are missing. */
  readonly rootKeys: readonly string[];
  /** Of the dump; see `strangersOf`. */
  readonly leftOut: readonly string[];
  /** Why it is not known that this installation has made the backup. */
  readonly unverified: string | undefined;
}

export function restoreReport(
  { state, rootKeyFile }: Layout,
  { created_at, machine, organizations }: Manifest,
  { joinedHosts, settings, rootKeys, leftOut, unverified }: Restored,
): string {
  const lines = [
    `Restored in ${state}: the control plane of ${machine} as it was at ${created_at}, with ${counted(organizations, "organization")} and all their tokens.`,
    "Start it with `skerry up`, or with `skerry install` as a service.",
  ];
  if (unverified !== undefined)
    lines.push(
      `It is not known which installation has made this backup, and you accepted that. ${unverified}`,
    );
  if (leftOut.length > 0)
    lines.push(
      `Left out of the backup's database, because Skerry makes nothing of that name: ${some(leftOut)}.`,
    );
  if (settings !== undefined) lines.push(...settingsLines(state, settings));
  if (rootKeys.length > 0)
    lines.push(
      `Before that, put the copy of the root key file in the place of ${rootKeyFile}: the backup was sealed under ${rootKeys.join(", ")}. Without it no secret opens, and no host on another machine is reached.`,
    );
  if (joinedHosts > 0)
    lines.push(
      `Its hosts on other machines (${joinedHosts}) still obey the control plane that the backup was made of. \`skerry take-over\` has them obey this one. From then on they refuse that one, and sandboxes that it has made since the backup are removed.`,
    );
  // Ids and names in it are what the backup says.
  return lines.map(printable).join("\n");
}

function settingsLines(state: string, { taken, toSetAgain, dropped }: TakenSettings): readonly string[] {
  const lines: string[] = [];
  const values = Object.entries(taken).map(([name, value]) => `  ${name}=${value}`);
  if (values.length > 0)
    lines.push(
      `The settings of its service are in ${state}/${SETTINGS}; \`skerry install\` takes them over:`,
      ...values,
    );
  if (toSetAgain.length > 0)
    lines.push(
      `Not taken over, because they name files of a machine, or where code and data come from; set them again for \`skerry up\` or \`skerry install\`: ${some(toSetAgain)}.`,
    );
  if (dropped.length > 0)
    lines.push(`Left out, because Skerry has no such setting or not such a value: ${some(dropped)}.`);
  return lines;
}

function some(names: readonly string[]): string {
  const more = names.length - SHOWN_MAX;
  return `${names.slice(0, SHOWN_MAX).join(", ")}${more > 0 ? ` and ${more} more` : ""}`;
}
