// A Debian of another release in a folder, made from the package sources of this machine.

import { spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

export interface RootOptions {
  /** `trixie` */
  readonly suite: string;
  /** `bookworm-backports`: QEMU comes from there. */
  readonly qemuFrom: string | undefined;
}

/** What every installed system has, and the smallest does not: our own packages are installed as on a user's machine, by `prepare.sh`. */
const PRESENT = ["ca-certificates", "npm", "openssl", "procps", "python3"];

/** Made where it is not there yet. */
export function ensureRoot(folder: string, options: RootOptions): void {
  if (!existsSync(join(folder, "etc/os-release"))) makeRoot(folder, options);
  trustAsHere(folder);
}

function makeRoot(folder: string, options: RootOptions): void {
  mkdirSync(folder, { recursive: true });
  const sources = sourceLines(machineSources(), machineSuite(), options);
  if (sources.length === 0)
    throw new Error("apt-get indextargets names no Debian archive: this needs a machine that runs Debian");
  const include = `--include=${PRESENT.join(",")}`;
  const made = spawnSync("mmdebstrap", ["--variant=minbase", include, options.suite, folder, ...sources], {
    stdio: "inherit",
  });
  if (made.status !== 0) throw new Error(`mmdebstrap could not make a root of ${options.suite}`);
  if (options.qemuFrom !== undefined)
    writeFileSync(join(folder, "etc/apt/preferences.d/qemu"), pinOf(options.qemuFrom));
}

/** One of apt's sources. */
export interface Source {
  readonly uri: string;
  readonly release: string;
}

/** This machine's sources with another suite in the place of its own: `bookworm-security` becomes `trixie-security`. */
export function sourceLines(
  sources: readonly Source[],
  ownSuite: string,
  { suite, qemuFrom }: RootOptions,
): string[] {
  const own = sources.filter(({ release }) => release.split("-")[0] === ownSuite);
  const lines = own.map(({ uri, release }) => `deb ${uri} ${release.replace(ownSuite, suite)} main`);
  const archive = own.find(({ release }) => release === ownSuite);
  if (qemuFrom !== undefined && archive !== undefined) lines.push(`deb ${archive.uri} ${qemuFrom} main`);
  return [...new Set(lines)];
}

function machineSources(): Source[] {
  const format = ["indextargets", "--format", "$(REPO_URI) $(RELEASE)", "Created-By: Packages"];
  const { stdout } = spawnSync("apt-get", format, { encoding: "utf8" });
  return stdout
    .trim()
    .split("\n")
    .map((line) => ({ uri: line.split(" ")[0] ?? "", release: line.split(" ")[1] ?? "" }));
}

/** Certificate authorities that this machine trusts by its own configuration, such as a proxy's. */
function trustAsHere(folder: string): void {
  const local = "usr/local/share/ca-certificates";
  if (!existsSync(join("/", local))) return;
  cpSync(join("/", local), join(folder, local), { recursive: true });
  const updated = spawnSync("chroot", [folder, "update-ca-certificates"], { encoding: "utf8" });
  if (updated.status !== 0) throw new Error(`update-ca-certificates failed: ${updated.stderr}`);
}

function machineSuite(): string {
  return /^VERSION_CODENAME=(.*)$/m.exec(readFileSync("/etc/os-release", "utf8"))?.[1] ?? "";
}

/** Above the priority of an installed package, so that it is also taken where the other one is there already. */
function pinOf(suite: string): string {
  return `Package: src:qemu src:seabios src:ipxe\nPin: release n=${suite}\nPin-Priority: 900\n`;
}
