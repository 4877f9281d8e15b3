// Kernel and initramfs that every guest boots from. The kernel is Debian's, unpacked from its signed package
// and not installed, or the operator's (own-kernel.ts); the initramfs holds the agent as /init and, for
// Debian's kernel, the modules of guest-modules.ts.

import { createHash } from "node:crypto";
import {
  chmod,
  copyFile,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rename,
  stat,
  writeFile,
} from "node:fs/promises";
import { basename, join } from "node:path";
import { discardWorkFolder, removeTree } from "../system/remove-tree.ts";
import { runProgram } from "../system/run.ts";
import { debootstrapDeadlines } from "./debootstrap.ts";
import { BOOT_MODULES, ON_DEMAND_MODULES } from "./guest-modules.ts";
import type { ImageCache } from "./image-cache.ts";
import { keepModules, modulesFolder, NEEDED_FILES, packModules } from "./kernel-modules.ts";

export interface Kernel {
  readonly file: string;
  readonly version: string;
  /** The folder of the modules that the initramfs has to carry; undefined where the drivers are built in. */
  readonly modules: string | undefined;
}

export interface BootFiles {
  readonly kernel: string;
  readonly initramfs: string;
  readonly kernelVersion: string;
  /** Changes when kernel, modules or agent do. */
  readonly digest: string;
}

export interface KernelSources {
  /** Debian's archive; undefined: mmdebstrap's own default. */
  readonly mirror: string | undefined;
  /** Path of native/contain.c, in which the programs run. */
  readonly contain: string;
  /** Kernels that other hosts of this machine have fetched. */
  readonly cache: ImageCache;
}

export interface InitramfsSources extends Pick<KernelSources, "contain"> {
  readonly agent: string;
}

/** Change it when the folder of a kernel changes without any of its inputs changing. */
const KERNEL_FORMAT = 1;
const KERNEL_SUITE = "bookworm";
const KERNEL_PACKAGE = "linux-image-cloud-amd64";
const UNPACK_DEADLINE_MS = 60_000;

// Runs inside mmdebstrap, whose apt verifies Debian's signatures also on a machine that is not Debian.
const downloadHook = (folder: string): string => `set -e
export APT_CONFIG="$MMDEBSTRAP_APT_CONFIG"
package=$(apt-cache depends ${KERNEL_PACKAGE} | sed -n 's/^ *Depends: \\(linux-image-[0-9].*\\)/\\1/p' | head -n 1)
cd '${folder}'
apt-get download -q "$package"
`;

/** Where kernels and initramfs files are kept. */
export function bootFolders(assetsFolder: string): { readonly debian: string; readonly own: string } {
  return { debian: join(assetsFolder, "kernel"), own: join(assetsFolder, "own-kernels") };
}

/** Folders in which a host that was killed has fetched a kernel. */
export async function cutOffKernels(assetsFolder: string): Promise<string[]> {
  const { debian } = bootFolders(assetsFolder);
  const names = await readdir(assetsFolder).catch(() => [] as string[]);
  return names
    .filter((name) => name.startsWith(`${basename(debian)}-`))
    .map((name) => join(assetsFolder, name));
}

/** What hosts with another kernel or agent have left in these folders. */
export async function unusedBootFiles(
  assetsFolder: string,
  { kernel, initramfs }: Pick<BootFiles, "kernel" | "initramfs">,
): Promise<string[]> {
  const { debian, own } = bootFolders(assetsFolder);
  const inFolder = async (folder: string): Promise<string[]> =>
    (await readdir(folder).catch(() => [] as string[])).map((name) => join(folder, name));
  const files = [...(await inFolder(debian)).filter(isInitramfs), ...(await inFolder(own))];
  return files.filter((file) => file !== kernel && file !== initramfs);
}

function isInitramfs(file: string): boolean {
  return basename(file).startsWith("initramfs-");
}

/**
 * Debian's kernel, downloaded into `folder` unless it is there: `vmlinuz`, `lib/modules`, `version`. One that
 * an earlier version kept without a module that is needed now is replaced.
 */
export async function ensureDebianKernel(folder: string, sources: KernelSources): Promise<Kernel> {
  const kept = await keptKernel(folder);
  if (kept !== undefined) return kept;
  await downloadKernel(folder, sources);
  const downloaded = await keptKernel(folder);
  if (downloaded === undefined) throw new Error("the kernel package lacks modules that guests need");
  return downloaded;
}

async function keptKernel(folder: string): Promise<Kernel | undefined> {
  const version = await readFile(join(folder, "version"), "utf8").catch(() => undefined);
  if (version === undefined) return undefined;
  const modules = modulesFolder(folder, version);
  const there = await Promise.all(NEEDED_FILES.map((file) => exists(join(modules, file))));
  return there.every(Boolean) ? { file: join(folder, "vmlinuz"), version, modules } : undefined;
}

async function downloadKernel(folder: string, sources: KernelSources): Promise<void> {
  await mkdir(join(folder, ".."), { recursive: true });
  const work = await mkdtemp(`${folder}-`);
  const { mirror = null } = sources;
  const madeOf = ["kernel", KERNEL_FORMAT, KERNEL_SUITE, KERNEL_PACKAGE, NEEDED_FILES, mirror];
  const key = { name: "kernel", madeOf };
  try {
    const kernel = join(work, "kernel");
    if (!(await sources.cache.take(key, kernel))) await fetchKernel(work, sources, kernel);
    await removeTree(folder);
    await rename(kernel, folder);
    // Here, because initramfs files come into the folder later.
    await sources.cache.keep(key, folder);
  } finally {
    await discardWorkFolder(work);
  }
}

async function fetchKernel(work: string, { mirror, contain }: KernelSources, kernel: string): Promise<void> {
  const hook = join(work, "hook.sh");
  await writeFile(hook, downloadHook(work));
  // Not quiet: then what apt says of a failure is not passed on.
  const options = ["--variant=custom", `--customize-hook=sh ${hook}`];
  const from = mirror === undefined ? [] : [mirror];
  await runProgram("mmdebstrap", [...options, KERNEL_SUITE, join(work, "apt"), ...from], {
    ...debootstrapDeadlines(work),
    contain,
  });
  const [archive] = (await readdir(work)).filter((name) => name.endsWith(".deb"));
  if (archive === undefined) throw new Error("the kernel package was not downloaded");
  await runProgram("dpkg-deb", ["-x", join(work, archive), join(work, "image")], {
    deadlineMs: UNPACK_DEADLINE_MS,
    contain,
  });
  await keepKernel(join(work, "image"), kernel, contain);
}

async function keepKernel(image: string, folder: string, contain: string): Promise<void> {
  const [version] = await readdir(join(image, "lib/modules"));
  if (version === undefined) throw new Error("the kernel package holds no modules");
  await mkdir(folder);
  await copyFile(join(image, `boot/vmlinuz-${version}`), join(folder, "vmlinuz"));
  await keepModules(image, folder, { version, contain });
  await writeFile(join(folder, "version"), version);
}

/** Packs the initramfs into `folder`, again when kernel or agent have changed. */
export async function ensureInitramfs(
  folder: string,
  kernel: Kernel,
  { agent, contain }: InitramfsSources,
): Promise<BootFiles> {
  const hash = createHash("sha256").update(kernel.version);
  for (const file of [kernel.file, agent]) hash.update(await readFile(file));
  if (kernel.modules !== undefined) hash.update([...BOOT_MODULES, "", ...ON_DEMAND_MODULES].join());
  const digest = hash.digest("hex").slice(0, 16);
  const initramfs = join(folder, `initramfs-${digest}.cpio`);
  if (!(await exists(initramfs))) await packInitramfs(kernel, { agent, contain }, initramfs);
  return { kernel: kernel.file, initramfs, kernelVersion: kernel.version, digest };
}

async function packInitramfs(
  { modules }: Kernel,
  { agent, contain }: InitramfsSources,
  target: string,
): Promise<void> {
  const work = await mkdtemp(`${target}-`);
  try {
    const root = join(work, "root");
    for (const folder of ["proc", "sys", "dev", "run", "root-fs"])
      await mkdir(join(root, folder), { recursive: true });
    await copyFile(agent, join(root, "init"));
    await chmod(join(root, "init"), 0o755);
    if (modules !== undefined) await packModules(modules, join(root, "modules"));
    const archive = join(work, "initramfs.cpio");
    await runProgram(
      "sh",
      ["-c", 'find . | LC_ALL=C sort | cpio --quiet -o -H newc -R 0:0 > "$0"', archive],
      {
        cwd: root,
        deadlineMs: UNPACK_DEADLINE_MS,
        contain,
      },
    );
    await chmod(archive, 0o444);
    await rename(archive, target);
  } finally {
    await discardWorkFolder(work);
  }
}

async function exists(file: string): Promise<boolean> {
  return stat(file).then(
    () => true,
    () => false,
  );
}
