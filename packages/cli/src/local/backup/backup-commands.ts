// `skerry backup`, `skerry restore` and `skerry take-over`.

import type { Command } from "commander";
import { addExamples } from "../../options.ts";
import { ownLayout } from "../system/layout.ts";

export function registerBackupCommands(program: Command): void {
  const backup = program
    .command("backup")
    .description("Write the control plane's database and keys into one file, while everything goes on.")
    .argument("<file>", "where to write it; only its owner can read it")
    .option("--force", "replace a file that is there, once the backup is whole")
    .action(async (file: string, { force = false }: { readonly force?: boolean }) => {
      const { backup: write } = await import("./backup.ts");
      await write(ownLayout(), file, { version: program.version() ?? "", isForced: force });
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
    .action(async (file: string) => {
      const { restore: read } = await import("./restore.ts");
      process.stdout.write(`${await read(ownLayout(), file)}\n`);
    });
  addExamples(
    restore,
    "skerry restore /backup/skerry-2026-11-22.backup",
    "SKERRY_STATE=/srv/skerry skerry restore /backup/skerry-2026-11-22.backup",
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
