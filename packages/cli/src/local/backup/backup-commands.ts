// `skerry backup`, `skerry restore` and `skerry take-over`.

import type { Command } from "commander";
import { addExamples } from "../../input/options.ts";
import { ownLayout } from "../system/layout.ts";

interface RestoreFlags {
  readonly rootKey?: string;
  readonly acceptUnverified?: boolean;
}

export function registerBackupCommands(program: Command): void {
  const backup = program
    .command("backup")
    .description("Write the control plane's database and keys into one file, while everything goes on.")
    .argument("<file>", "where to write it; only its owner can read it")
    .option("--force", "replace a file that is there, once the backup is whole")
    .action(async (file: string, { force = false }: { readonly force?: boolean }) => {
      const { backup: write } = await import("./backup.ts");
      await write(ownLayout(), file, { isForced: force });
    });
  addExamples(
    backup,
    "skerry backup /backup/skerry-$(date +%F).backup",
    "tar --list --verbose --file /backup/skerry-2026-11-22.backup",
  );
  const restore = program
    .command("restore")
    .description("Make a control plane of a backup, in an empty state folder.")
    .argument("<file>", "what `skerry backup` has written")
    .option(
      "--root-key <file>",
      "a copy of the root key file: tells whether the backup is yours, and is put in its place",
    )
    .option("--accept-unverified", "restore it although it is not known which installation has made it")
    .action(async (file: string, { rootKey, acceptUnverified = false }: RestoreFlags) => {
      const { restore: read } = await import("./restore.ts");
      const options = { rootKeyCopy: rootKey, acceptUnverified };
      process.stdout.write(`${await read(ownLayout(), file, options)}\n`);
    });
  addExamples(
    restore,
    "skerry restore --root-key /safe/root.key /backup/skerry-2026-11-22.backup",
    "SKERRY_STATE=/srv/skerry skerry restore --root-key /safe/root.key /backup/skerry-2026-11-22.backup",
  );
  const takeOver = program
    .command("take-over")
    .description(
      "After a restore: have the hosts on other machines obey this control plane, and no other copy of it.",
    )
    .action(async () => {
      const { takeOver: take } = await import("./take-over.ts");
      process.stdout.write(`${await take(ownLayout())}\n`);
    });
  addExamples(takeOver, "skerry take-over");
}
