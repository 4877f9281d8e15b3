// `skerry install`, `skerry upgrade` and `skerry uninstall`.

import { dirname } from "node:path";
import type { Command } from "commander";
import packageJson from "../../../package.json" with { type: "json" };
import { addExamples } from "../../input/options.ts";
import { ownLayout, type Layout } from "../system/layout.ts";
import { DEFAULT_PREFIX, installationAt, ownInstallation, type Installation } from "./installation.ts";

interface Place {
  readonly prefix: string;
  readonly root: string;
}

export function registerInstallCommands(program: Command): void {
  const install = program
    .command("install")
    .description("Run Skerry as a service of systemd, from a copy of this checkout or package.")
    .option("--prefix <folder>", "where programs go", DEFAULT_PREFIX)
    .option("--root <folder>", "write into another system's root, and start nothing", "")
    .addHelpText(
      "after",
      "\nSettings in the environment (SKERRY_...) are written into /etc/skerry/skerry.env.",
    )
    .action(async (place: Place) => {
      const { install: put } = await import("./install.ts");
      process.stdout.write(`${await put(ownLayout(), installationAt(place), packageJson.version)}\n`);
    });
  addExamples(
    install,
    "sudo bin/skerry install",
    "sudo SKERRY_LISTEN=192.0.2.1:7070 bin/skerry install --prefix /opt/skerry",
    "sudo bin/skerry install --root /mnt/image",
  );
  const upgrade = program
    .command("upgrade")
    .description("Have this version, or an installed one, run what is installed; the VMs run on.")
    .option("--to <version>", "an installed version, to go back to")
    .option("--one-way", "also where the version before could not be gone back to", false)
    .option("--prefix <folder>", "where programs are")
    .action(async (flags: { to?: string; oneWay: boolean; prefix?: string }) => {
      const { upgrade: change, layoutOfService } = await import("./upgrade.ts");
      const layout = ownLayout();
      const installation = placeOf(layout, flags.prefix);
      const said = await change(layoutOfService(layout, installation), installation, {
        ...{ to: flags.to, oneWay: flags.oneWay, release: packageJson.version },
      });
      process.stdout.write(`${said}\n`);
    });
  addExamples(upgrade, "sudo bin/skerry upgrade", "sudo skerry upgrade --to 0.1.0-1a2b3c4d");
  const uninstall = program
    .command("uninstall")
    .description("Stop the service and remove its programs; asks before it removes anything.")
    .option("--yes", "ask nothing, and keep the data", false)
    .option("--purge", "remove the database and the disks of machines, too", false)
    .option("--prefix <folder>", "where programs are")
    .option("--root <folder>", "in another system's root", "")
    .action(async (flags: { yes: boolean; purge: boolean; prefix?: string; root: string }) => {
      const { uninstall: take } = await import("./uninstall.ts");
      const { prefix } = placeOf(ownLayout(), flags.prefix);
      process.stdout.write(`${await take(installationAt({ root: flags.root, prefix }), flags)}\n`);
    });
  addExamples(uninstall, "sudo skerry uninstall", "sudo skerry uninstall --yes --purge");
  registerUnitCommands(program);
}

/** They are called by units and by other versions. */
function registerUnitCommands(program: Command): void {
  program
    .command("unit", { hidden: true })
    .argument("<name>")
    .action(async (name: string) => {
      const { runUnit } = await import("./run-unit.ts");
      await runUnit(ownLayout(), name);
    });
  program.command("activate", { hidden: true }).action(async () => {
    const { activate } = await import("./upgrade.ts");
    const layout = ownLayout();
    await activate(layout, ownInstallation(layout));
  });
}

/** An installed program means its own installation. */
function placeOf(layout: Layout, prefix: string | undefined): Installation {
  if (prefix !== undefined) return installationAt({ root: "", prefix });
  const own = dirname(dirname(layout.dist));
  return own.endsWith("/lib/skerry")
    ? ownInstallation(layout)
    : installationAt({ root: "", prefix: DEFAULT_PREFIX });
}
