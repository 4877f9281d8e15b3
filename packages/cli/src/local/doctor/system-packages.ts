// The system packages that Skerry needs to run, and which of them are missing. The list is the one that the setup installs from.

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { CliError } from "../../errors/errors.ts";
import type { Layout } from "../system/layout.ts";
import { run } from "../system/run.ts";
import { fault, ok, warning, type Outcome } from "./outcome.ts";

interface SystemPackages {
  readonly needed: readonly string[];
  /** Undefined where the machine has no dpkg, so that it is not known. */
  readonly missing: readonly string[] | undefined;
}

export async function checkSystemPackages(layout: Layout): Promise<Outcome> {
  const { needed, missing } = await systemPackages(layout);
  if (missing === undefined)
    return warning("this machine has no dpkg", `Install what these packages hold: ${needed.join(" ")}`);
  if (missing.length === 0) return ok(`${needed.length} installed`);
  return fault(`missing: ${missing.join(", ")}`, installCommand(missing));
}

export async function systemPackages(layout: Layout): Promise<SystemPackages> {
  const file = join(layout.dist, "../setup/packages.sh");
  const needed = runtimePackages(await readFile(file, "utf8"));
  // It fails where one is unknown, and prints the others all the same.
  const query = ["--show", "--showformat=${Package} ${db:Status-Status}\\n", ...needed];
  const answer = await run("dpkg-query", query, { env: { PATH: "/usr/bin:/bin", LC_ALL: "C.UTF-8" } }).catch(
    () => undefined,
  );
  if (answer === undefined) return { needed, missing: undefined };
  const lines = answer.stdout.split("\n");
  return { needed, missing: needed.filter((name) => !lines.includes(`${name} installed`)) };
}

export function runtimePackages(text: string): string[] {
  const list = /^SKERRY_RUNTIME_PACKAGES="([^"]+)"$/m.exec(text)?.[1];
  if (list === undefined) throw new CliError("package_damaged", "setup/packages.sh names no packages.");
  return list.split(" ");
}

/** Debian's postgresql makes a cluster of its own when it is installed, unless this file says otherwise. Ours is another one. */
export function installCommand(missing: readonly string[]): string {
  const install = `apt-get install --no-install-recommends ${missing.join(" ")}`;
  if (!missing.includes("postgresql")) return install;
  return `mkdir -p /etc/postgresql-common/createcluster.d; echo create_main_cluster=false >/etc/postgresql-common/createcluster.d/skerry.conf; ${install}`;
}
