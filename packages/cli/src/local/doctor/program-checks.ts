// The programs that a host runs, and what runs them.

import { access, constants, readFile } from "node:fs/promises";
import { join } from "node:path";
import { CliError } from "../../errors/errors.ts";
import { choosePostgres, clusterMajor, installedMajors } from "../servers/choose-postgres.ts";
import { fileExists } from "../system/files.ts";
import type { Layout } from "../system/layout.ts";
import { run } from "../system/run.ts";
import type { Check } from "./check.ts";
import { checkFirmware } from "./check-firmware.ts";
import { checkSupported } from "./check-supported.ts";
import { fault, ok, warning, type Outcome } from "./outcome.ts";
import { systemFiles } from "./system-files.ts";
import { checkSystemPackages } from "./system-packages.ts";

const NODE_MIN_MAJOR = 24;
const PROBE_DEADLINE_MS = 10_000;
/** Debian's, whose versions tell which faults are known in them. */
const PACKAGES = [
  ...["qemu-system-x86", "qemu-system-data", "qemu-utils", "nftables", "haproxy", "iproute2", "mmdebstrap"],
  ...[
    "e2fsprogs",
    "postgresql",
    "linux-image-amd64",
    "intel-microcode",
    "amd64-microcode",
    "libc6",
    "systemd",
  ],
];

export function programChecks(layout: Layout): readonly Check[] {
  const always = (name: string, look: () => Promise<Outcome>): Check => ({ name, shown: "always", look });
  return [
    always("root", checkRoot),
    always("system", checkSystem),
    always("node", checkNode),
    always("system packages", () => checkSystemPackages(layout)),
    always("qemu", () => checkProgram("qemu-system-x86_64", ["--version"], "qemu-system-x86")),
    always("supported", async () => checkSupported(systemFiles, layout.hostAssets, await qemuVersion())),
    always("firmware", async () => checkFirmware(systemFiles, await firmwareFolders())),
    always("qemu-img", () => checkProgram("qemu-img", ["--version"], "qemu-utils")),
    always("mmdebstrap", () => checkProgram("mmdebstrap", ["--version"], "mmdebstrap")),
    always("mke2fs", () => checkProgram("mke2fs", ["-V"], "e2fsprogs")),
    always("postgresql", () => checkPostgres(layout)),
    always("build", () => checkBuild(layout)),
    { name: "packages", shown: "thorough", look: checkPackages },
  ];
}

async function checkRoot(): Promise<Outcome> {
  return process.getuid?.() === 0
    ? ok("yes")
    : fault("no", "Run skerry as root or with sudo: TAP devices and namespaces need it.");
}

async function checkSystem(): Promise<Outcome> {
  const release = await readFile("/etc/os-release", "utf8").catch(() => "");
  const name = /^PRETTY_NAME="?([^"\n]*)/m.exec(release)?.[1] ?? "unknown";
  if (process.arch !== "x64") return fault(`${name}, ${process.arch}`, "Hosts are x86_64 for now.");
  if (!/^ID(_LIKE)?=.*(debian|ubuntu)/m.test(release))
    return warning(
      name,
      "Skerry is tested on the systems of docs/supported.md; install its system packages by hand (setup/packages.sh).",
    );
  return ok(name);
}

async function checkNode(): Promise<Outcome> {
  const major = Number(process.versions.node.split(".")[0]);
  return major >= NODE_MIN_MAJOR
    ? ok(process.versions.node)
    : fault(process.versions.node, "Run npm run quickstart; it brings Node 24.");
}

async function checkProgram(
  program: string,
  args: readonly string[],
  debianPackage: string,
): Promise<Outcome> {
  const result = await run(program, args, { deadlineMs: PROBE_DEADLINE_MS }).catch(() => undefined);
  if (result === undefined || result.code !== 0) return fault("missing", `apt-get install ${debianPackage}`);
  return ok((result.stdout || result.stderr).split("\n")[0]?.trim().slice(0, 60) ?? "");
}

async function checkPostgres(layout: Layout): Promise<Outcome> {
  if (layout.joined !== undefined) return ok(`not needed: ${layout.joined.control} has its own`);
  if (layout.externalDatabaseUrl !== undefined) return ok("SKERRY_DATABASE_URL names one");
  try {
    return ok(`PostgreSQL ${choosePostgres(await installedMajors(), await clusterMajor(layout))}`);
  } catch (error) {
    if (error instanceof CliError) return fault(error.message, error.remediation ?? "");
    if ((error as NodeJS.ErrnoException).code === "EACCES")
      return warning(
        "only root may see which PostgreSQL made the database",
        "Run this as root, or with sudo.",
      );
    throw error;
  }
}

async function checkBuild(layout: Layout): Promise<Outcome> {
  const files = [
    "control.js",
    "host.js",
    "native/agent",
    "native/launch",
    "native/spawn-helper",
    "native/private-memory.so",
  ];
  for (const file of files) {
    if (!(await fileExists(join(layout.dist, file))))
      return fault(`${file} is missing`, "Run npm run quickstart; it builds.");
  }
  const launch = await access(join(layout.dist, "native/launch"), constants.X_OK).then(
    () => true,
    () => false,
  );
  return launch
    ? ok(layout.dist)
    : fault("native/launch cannot be run", "The checkout is on a file system mounted noexec; move it.");
}

async function qemuVersion(): Promise<string | undefined> {
  const options = { deadlineMs: PROBE_DEADLINE_MS };
  const result = await run("qemu-system-x86_64", ["--version"], options).catch(() => undefined);
  return result?.stdout.split("\n")[0];
}

/** Where QEMU looks for firmware; none where it cannot be asked. */
async function firmwareFolders(): Promise<string[]> {
  const result = await run("qemu-system-x86_64", ["-L", "help"], { deadlineMs: PROBE_DEADLINE_MS }).catch(
    () => undefined,
  );
  return result === undefined ? [] : result.stdout.split("\n").filter((line) => line.startsWith("/"));
}

async function checkPackages(): Promise<Outcome> {
  const format = ["-W", "-f", "${binary:Package} ${Version} ${db:Status-Status}\n"];
  const result = await run("dpkg-query", [...format, ...PACKAGES]).catch(() => undefined);
  if (result === undefined) return ok("no dpkg here");
  return ok(packagesIn(result.stdout));
}

/** Those that are installed, with their versions. */
export function packagesIn(list: string): string {
  const installed = list.split("\n").flatMap((line) => {
    const [name, version, status] = line.split(" ");
    return status === "installed" ? [`${name} ${version}`] : [];
  });
  return installed.join(", ");
}
