// `skerry upgrade`: another version runs what is installed, while the VMs run on. Each version installs its own units and checks its own health
// (`activate`), so this program only says which one does that, and turns back where it fails.

import { spawn } from "node:child_process";
import { join } from "node:path";
import { CliError } from "../../errors/errors.ts";
import { controlCommand } from "../servers/control-command.ts";
import { isUnitActive, units } from "../servers/units.ts";
import { adoptInstalledSettings } from "../system/installed-settings.ts";
import { readLayout, type Layout } from "../system/layout.ts";
import { lockCommands } from "../system/lock.ts";
import { requireRoot } from "../system/require-root.ts";
import { mustRun } from "../system/run.ts";
import { step } from "../system/step.ts";
import {
  copyPrograms,
  currentVersion,
  installedVersions,
  makeCurrent,
  removeOldVersions,
  versionOf,
} from "./copy-programs.ts";
import { readRecord, writeRecord, type Installation } from "./installation.ts";
import { systemctl, writeUnits } from "./systemd.ts";
import { waitUntilServing } from "./wait-until-serving.ts";

export interface UpgradeFlags {
  /** An installed version; undefined: this checkout or package. */
  readonly to: string | undefined;
  /** Also where the version before could not serve the database any more. */
  readonly oneWay: boolean;
}

/** Resolves with what was done. `release`: of this program. */
export async function upgrade(
  layout: Layout,
  installation: Installation,
  { to, oneWay, release }: UpgradeFlags & { readonly release: string },
): Promise<string> {
  requireRoot("upgrade");
  if ((await readRecord(installation)) === undefined) throw notInstalled(installation);
  const before = await currentVersion(installation);
  if (before === undefined) throw notInstalled(installation);
  const version = to === undefined ? await versionOf(layout, release) : await findVersion(installation, to);
  if (version === before) return `Skerry ${version} is what is installed.`;
  if (to === undefined)
    await step(`Copy Skerry ${version} to ${installation.lib}`, () =>
      copyPrograms(installation, layout, version),
    );
  if (!oneWay) await requireWayBack(installation, version, before);
  const failure = await activateIn(installation, version);
  if (failure === undefined) {
    await removeOldVersions(installation, [version, before]);
    return `Skerry ${version} runs in the place of ${before}. To go back: skerry upgrade --to ${before}`;
  }
  // Where it has refused before it changed anything, nothing is to be turned back.
  if ((await currentVersion(installation)) === before)
    throw new CliError("upgrade_refused", `Skerry ${version} cannot run here; ${before} goes on.`, {
      remediation: "It has said why above.",
    });
  const second = await activateIn(installation, before);
  throw new CliError(
    "upgrade_failed",
    second === undefined
      ? `Skerry ${version} did not get ready, so ${before} runs again. The VMs ran on.`
      : `Skerry ${version} did not get ready, and neither did ${before} afterwards. The VMs run on.`,
    { remediation: "What it said is above; journalctl -u 'skerry-*' has more." },
  );
}

/** Run by the version itself, from its installed folder. Nothing is changed where it cannot serve the database. */
export async function activate(layout: Layout, installation: Installation): Promise<void> {
  requireRoot("upgrade");
  await lockCommands(layout, "skerry upgrade");
  const isActive = await isUnitActive(units.target);
  if (isActive && layout.joined === undefined)
    await controlCommand(layout, ["check-schema"], { failure: "database_newer" });
  const version = join(layout.dist, "..").slice(installation.lib.length + 1);
  await makeCurrent(installation, version);
  await writeRecord(installation, layout);
  await writeUnits(installation, layout);
  if (!isActive) return;
  await step(`Start Skerry ${version}; the VMs run on`, async () => {
    // Not the target: PostgreSQL goes on.
    const servers = layout.joined === undefined ? [units.host, units.control] : [units.host];
    await systemctl("restart", ...servers);
    await systemctl("start", units.target);
    await waitUntilServing(layout);
  });
}

/** With the settings of the service, in the place of those of this shell. */
export function layoutOfService({ dist }: Layout, { lib }: Installation): Layout {
  adoptInstalledSettings(join(lib, "any/dist"));
  return readLayout(dist);
}

/** Undefined where it went well; it has said what did not. */
function activateIn({ lib }: Installation, version: string): Promise<Error | undefined> {
  const child = spawn(join(lib, version, "bin/skerry"), ["activate"], {
    stdio: ["ignore", "inherit", "inherit"],
  });
  return new Promise((resolve) => {
    child.once("error", resolve);
    child.once("close", (code) =>
      resolve(code === 0 ? undefined : new Error(`it ended with ${code ?? "a signal"}`)),
    );
  });
}

async function findVersion(installation: Installation, wanted: string): Promise<string> {
  const versions = await installedVersions(installation);
  const found = versions.filter((version) => version === wanted || version.startsWith(wanted));
  const [version] = found;
  if (version !== undefined && (found.length === 1 || version === wanted)) return version;
  throw new CliError("unknown_version", `There is no one version "${wanted}" in ${installation.lib}.`, {
    remediation: `Installed are ${versions.join(", ")}. For another one run \`bin/skerry upgrade\` in its checkout or package.`,
  });
}

/** Asked before anything is changed: a newer version migrates the database when it starts. */
async function requireWayBack(installation: Installation, version: string, before: string): Promise<void> {
  const control = (of: string, ...args: readonly string[]): Promise<string> =>
    mustRun(process.execPath, [join(installation.lib, of, "dist/control.js"), ...args]);
  const known = JSON.parse(await control(before, "known-migrations")) as readonly number[];
  const answer = JSON.parse(await control(version, "way-back", ...known.map(String))) as {
    readonly fault: string | null;
  };
  if (answer.fault === null) return;
  throw new CliError(
    "no_way_back",
    `After this upgrade ${before} could not be gone back to: more than one release lies between.`,
    {
      remediation:
        "Nothing was changed. Upgrade by way of the releases between; or take a backup with `skerry backup`, then run this again with --one-way.",
    },
  );
}

function notInstalled({ lib }: Installation): CliError {
  return new CliError("not_installed", `Skerry is not installed in ${lib}.`, {
    remediation: "`skerry install` installs this version. Another place is named with --prefix.",
  });
}
