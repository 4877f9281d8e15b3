// A template's root disk: a Debian tree by mmdebstrap, written into one ext4 image. The image is never
// written to afterwards.

import { chmod, link, mkdir, mkdtemp, rm, stat, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { quoted } from "@skerry/contract/shell-words";
import { discardWorkFolder } from "../system/remove-tree.ts";
import { runProgram } from "../system/run.ts";
import { CERTIFICATES_PACKAGE, installCertificates, type ExtraCertificates } from "./extra-certificates.ts";
import type { TemplateDescription } from "./description.ts";
import { debootstrapDeadlines } from "./debootstrap.ts";
import type { CacheKey, ImageCache } from "./image-cache.ts";
import { fetchNode } from "./node-archives.ts";

const FORMAT_DEADLINE_MS = 120_000;
const GIB = 1024 ** 3;

/** Paths that no program in a sandbox reads, left out to keep the image small. Folders of manual pages stay: some packages put links into them. */
const LEFT_OUT = ["/usr/share/man/*/*", "/usr/share/doc/*", "/usr/share/locale/*", "/usr/share/info/*"];

/** In the names of folders in which images are built. */
const BUILDING = "-building-";

export function isCutOffImage(name: string): boolean {
  return name.includes(BUILDING);
}

/** Where the image of this template is, or will be. */
export function imageFile(folder: string, description: TemplateDescription): string {
  return join(folder, `${description.name}-${description.diskDigest.slice(0, 16)}.ext4`);
}

/** Change it when an image becomes another one without a change of its description. */
const FORMAT = 1;

export interface ImageSources {
  /** Debian's archive; undefined: mmdebstrap's own default. */
  readonly mirror: string | undefined;
  /** What the image trusts besides Debian's authorities. */
  readonly certificates: ExtraCertificates | undefined;
  /** Path of native/contain.c, in which the programs run. */
  readonly contain: string;
  /** Images that other hosts of this machine have made. */
  readonly cache: ImageCache;
  /** Hears how far it is. */
  readonly tell?: (progress: string) => void;
}

/** Identifies an image among those that hosts share. */
export function imageKey(
  { name, diskDigest }: TemplateDescription,
  { mirror }: Pick<ImageSources, "mirror">,
): CacheKey {
  return { name, madeOf: ["image", FORMAT, diskDigest, mirror ?? null] };
}

/** Builds the image unless it is there; it appears whole or not at all. Needs root and Debian's archive. */
export async function ensureImage(
  folder: string,
  description: TemplateDescription,
  sources: ImageSources,
): Promise<string> {
  const target = imageFile(folder, description);
  if (await stat(target).then(Boolean, () => false)) return target;
  await mkdir(folder, { recursive: true });
  const work = await mkdtemp(join(folder, `${description.name}${BUILDING}`));
  try {
    const image = join(work, "image.ext4");
    if (!(await sources.cache.take(imageKey(description, sources), image))) {
      await buildTree(work, description, sources);
      sources.tell?.("writing its file system");
      await writeFileSystem(image, { root: rootIn(work), diskGib: description.disk_gib }, sources.contain);
    }
    // Another host that shares the folder may have been faster, and disks may be based on its file already.
    await link(image, target).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== "EEXIST") throw error;
    });
    return target;
  } finally {
    await discardWorkFolder(work);
  }
}

function rootIn(work: string): string {
  return join(work, "root");
}

async function buildTree(
  work: string,
  description: TemplateDescription,
  { mirror, certificates, contain, tell = () => undefined }: ImageSources,
): Promise<void> {
  const root = rootIn(work);
  const packages =
    certificates === undefined
      ? description.packages
      : [...new Set([...description.packages, CERTIFICATES_PACKAGE])];
  const unpack =
    description.node === undefined ? [] : await fetchNode(work, description.node, { certificates, contain });
  await runProgram("mmdebstrap", mmdebstrapArguments({ ...description, packages, unpack }, root, mirror), {
    ...debootstrapDeadlines(work, tell),
    contain,
  });
  if (certificates !== undefined) await installCertificates(root, certificates, contain);
  await writeFile(join(root, "etc/fstab"), "");
  await rm(join(root, "etc/machine-id"), { force: true });
}

async function writeFileSystem(
  image: string,
  { root, diskGib }: { readonly root: string; readonly diskGib: number },
  contain: string,
): Promise<void> {
  await writeFile(image, "");
  await truncate(image, diskGib * GIB);
  const options = ["-q", "-F", "-t", "ext4", "-m", "0", "-E", "lazy_itable_init=1,lazy_journal_init=1"];
  await runProgram("mke2fs", [...options, "-d", root, "-L", "root", image], {
    deadlineMs: FORMAT_DEADLINE_MS,
    contain,
  });
  await chmod(image, 0o444);
}

function mmdebstrapArguments(
  description: Pick<TemplateDescription, "packages" | "suite" | "files"> &
    Partial<Pick<TemplateDescription, "user" | "set_up">> & { readonly unpack: readonly string[] },
  root: string,
  mirror: string | undefined,
): string[] {
  return [
    // Not quiet: then what apt says of a failure is not passed on.
    ...["--variant=minbase", `--include=${description.packages.join(",")}`],
    ...['--aptopt=APT::Install-Recommends "false"'],
    ...dpkgHooks,
    ...userHooks(description.user),
    ...description.unpack.map((command) => `--customize-hook=${command}`),
    ...fileHooks(description),
    ...[description.suite, root],
    ...(mirror === undefined ? [] : [mirror]),
  ];
}

/** Settings of dpkg in the image: packages that are installed in a VM leave these paths out, too. */
const DPKG_SETTINGS = "etc/dpkg/dpkg.cfg.d/99skerry";
/** A tree that is not whole is thrown away, so dpkg need not wait for the disk. */
const DPKG_UNSAFE = "etc/dpkg/dpkg.cfg.d/99skerry-building";

/**
 * Leaves paths out without `--dpkgopt=path-exclude`: with that mmdebstrap passes the essential packages
 * through a filter in Python, which takes ten times as long as unpacking them.
 */
const dpkgHooks: readonly string[] = [
  `--extract-hook=cd "$1" && printf '%s\\n' ${LEFT_OUT.map((path) => quoted(`path-exclude=${path}`)).join(" ")} > ${DPKG_SETTINGS}`,
  `--extract-hook=echo force-unsafe-io > "$1/${DPKG_UNSAFE}"`,
  `--extract-hook=cd "$1" && rm -rf ${LEFT_OUT.map((path) => path.slice(1)).join(" ")}`,
  `--customize-hook=rm "$1/${DPKG_UNSAFE}"`,
];

/** What runs in the tree when its packages are there. */
function userHooks(user: string | undefined): string[] {
  if (user === undefined) return [];
  const commands = [
    `chroot "$1" useradd --uid 1000 --user-group --create-home --shell /bin/bash ${user}`,
    `if [ -d "$1/etc/sudoers.d" ]; then echo '${user} ALL=(ALL:ALL) NOPASSWD: ALL' > "$1/etc/sudoers.d/${user}" && chmod 440 "$1/etc/sudoers.d/${user}"; fi`,
  ];
  return commands.map((command) => `--customize-hook=${command}`);
}

/** What is run when the users are there: the files of the template first, which its commands may need. */
function fileHooks({ files, set_up = [] }: Partial<Pick<TemplateDescription, "files" | "set_up">>): string[] {
  const commands = [
    ...(files === undefined ? [] : [`cp -R -- ${quoted(`${files}/.`)} "$1"`]),
    ...set_up.map((command) => `chroot "$1" /bin/sh -c ${quoted(command)}`),
  ];
  return commands.map((command) => `--customize-hook=${command}`);
}
