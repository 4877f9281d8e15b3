// `skerry key`: the keys above all that control seals, and those that it signs with.

import { rename } from "node:fs/promises";
import { dirname } from "node:path";
import { formatRootKeys, newRootKey, type RootKey } from "@skerry/contract/sealing/root-key-file";
import type { Output } from "../output/output.ts";
import { controlCommand } from "./servers/control-command.ts";
import { readRootKeys, syncFolder, writeBeside } from "./servers/root-key.ts";
import type { Layout } from "./system/layout.ts";
import { lockCommands } from "./system/lock.ts";
import { requireRoot } from "./system/require-root.ts";
import { findSystemUser } from "./system/system-user.ts";

/** As control prints it. */
interface Report {
  readonly keys: readonly {
    readonly id: string;
    readonly in_file: boolean;
    readonly seals: boolean;
    readonly data_keys: number;
  }[];
  readonly damaged: readonly string[];
  /** Of the key of the cluster's authority, which hosts obey. */
  readonly authority: "sealed" | "plain" | "none";
  /** Of signed URLs and of E2B's clients; the newest one first. */
  readonly signing: readonly {
    readonly id: string;
    readonly created_at: string;
    readonly signs: boolean;
    readonly opens: boolean;
  }[];
}

export function checkKeys(layout: Layout): Promise<Report> {
  // Control is of this program's own version, and prints nothing else. The same holds of the others below.
  return key(layout, "check") as Promise<Report>;
}

/** Prints it, and says whether all secrets open. */
export async function showKeys(
  output: Output,
  { keys, damaged, authority, signing }: Report,
): Promise<boolean> {
  await output.table(
    ["KEY", "IN THE FILE", "SEALS", "OPENS"],
    keys.map(({ id, in_file, seals, data_keys }) => [
      id,
      in_file ? "yes" : "no",
      seals ? "yes" : "",
      String(data_keys),
    ]),
  );
  const missing = keys.filter(({ in_file, seals, data_keys }) => !in_file && (seals || data_keys > 0));
  for (const { id } of missing) await output.note(`The key ${id} is missing: put it back into the file.`);
  for (const owner of damaged) await output.note(`The key of ${owner} is damaged: its secrets do not open.`);
  if (authority === "plain")
    await output.note(
      "The key of the cluster's authority is not sealed: where every control plane has been upgraded, `skerry key rotate` seals it.",
    );
  if (signing.length > 0)
    await output.table(
      ["SIGNING KEY", "MADE", "SIGNS", "OPENS"],
      signing.map(({ id, created_at, signs, opens }) => [
        ...[id, created_at, signs ? "yes" : ""],
        opens ? "yes" : "no",
      ]),
    );
  const closed = signing.filter(({ opens }) => !opens);
  for (const { id } of closed)
    await output.note(`The signing key ${id} does not open: signed URLs and E2B's clients are refused.`);
  return missing.length + damaged.length + closed.length === 0;
}

/** A new key seals from now on, all is sealed under it, and the one before stays in the file. */
export async function rotateKey(
  layout: Layout,
): Promise<{ readonly id: string; readonly data_keys: number }> {
  requireRoot("key rotate");
  await lockCommands(layout, "skerry key rotate");
  const before = await readRootKeys(layout);
  const { keys } = await checkKeys(layout);
  // One that was written by a change that broke off is used now.
  const [first] = before;
  const isUnused =
    keys.some(({ seals }) => seals) && !keys.some(({ id, seals }) => seals && id === first?.id);
  const next = isUnused && first !== undefined ? first : newRootKey();
  if (next !== first) await writeKeys(layout, [next, ...before]);
  return (await key(layout, "seal-under", next.id)) as { id: string; data_keys: number };
}

/** Keys by which nothing is sealed any more are taken out of the file. */
export async function retireKeys(layout: Layout): Promise<readonly string[]> {
  requireRoot("key retire");
  await lockCommands(layout, "skerry key retire");
  const before = await readRootKeys(layout);
  const { needed } = (await key(layout, "retire")) as { readonly needed: readonly string[] };
  const kept = before.filter(({ id }) => needed.length === 0 || needed.includes(id));
  if (kept.length < before.length) await writeKeys(layout, kept);
  return before.filter((one) => !kept.includes(one)).map(({ id }) => id);
}

/** As control prints it. */
interface SigningRotation {
  readonly id: string;
  readonly signs_in_s: number;
  readonly accepted: readonly string[];
  readonly retired: readonly string[];
}

/** A new key signs URLs and what E2B's clients get. What the one before has signed is valid until that is retired. */
export function rotateSigningKey(layout: Layout): Promise<SigningRotation> {
  requireRoot("key rotate --signing");
  return key(layout, "rotate-signing") as Promise<SigningRotation>;
}

/** What keys before the newest one have signed ends. */
export async function retireSigningKeys(layout: Layout): Promise<readonly string[]> {
  requireRoot("key retire --signing");
  return ((await key(layout, "retire-signing")) as { readonly retired: readonly string[] }).retired;
}

function key(layout: Layout, ...args: readonly string[]): Promise<unknown> {
  return controlCommand(layout, ["key", ...args], { failure: "secrets_unavailable" });
}

async function writeKeys({ rootKeyFile: file }: Layout, keys: readonly RootKey[]): Promise<void> {
  const user = await findSystemUser();
  if (user === undefined) throw new Error("the system user is missing");
  await rename(await writeBeside(file, formatRootKeys(keys), user), file);
  await syncFolder(dirname(file));
}
