// The templates of this host, their status, and the frozen template for each size, made at first use.

import { readdir } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { SkerryError } from "@skerry/contract/errors";
import type { TemplateImage } from "@skerry/contract/host-api/templates";
import { isId } from "@skerry/contract/ids";
import type { HostCompatibility } from "@skerry/contract/moves/host-compatibility";
import type { BuiltInTemplate } from "@skerry/contract/templates/template";
import { sizes, type Size } from "@skerry/contract/sizes";
import type { Logger } from "pino";
import type { GuestChannel } from "../guest/channel.ts";
import { removeTree } from "../system/remove-tree.ts";
import type { HostResources } from "../vm/record/vm-resources.ts";
import { vmPaths, type Machine } from "../vm/qemu/qemu-arguments.ts";
import { compatibilityOf, type InstalledQemu, type QemuBuild } from "../vm/qemu/installed-qemu.ts";
import type { BootFiles } from "./boot-files.ts";
import { readDescriptions } from "./description.ts";
import { Freezes } from "./freezes.ts";
import { distrust, frozenNames, isCutOffFreeze, type FreezeOptions, type FrozenTemplate } from "./frozen.ts";
import { certificatesEnv, type ExtraCertificates } from "./extra-certificates.ts";
import type { ImageCache } from "./image-cache.ts";
import { ensureImage, imageFile, imageKey, isCutOffImage } from "./image.ts";
import type { OwnTemplate, OwnTemplates } from "./own-templates.ts";
import { prepareOwn, startIn } from "./start.ts";
import { isOnDemand, makingOf, TemplateImages } from "./template-images.ts";
import { unusedTemplates } from "./unused-templates.ts";

/** How commands run in VMs of a template where a caller does not say otherwise; null for root, and for its home. */
export type CommandDefaults = Pick<TemplateImage, "user" | "workdir">;

export interface LibraryOptions {
  /** Descriptions, one folder each. */
  readonly templatesFolder: string;
  /** Images and frozen templates are kept here. */
  readonly assetsFolder: string;
  /** Templates that are not built in, and where what is frozen of them is kept. */
  readonly own: OwnTemplates;
  readonly ownFrozenFolder: string;
  readonly debianMirror: string | undefined;
  /** What guests trust besides Debian's authorities. */
  readonly certificates: ExtraCertificates | undefined;
  /** Path of native/contain.c, in which images are built. */
  readonly contain: string;
  /** Images that other hosts of this machine have made. */
  readonly cache: ImageCache;
  readonly boot: BootFiles;
  readonly qemu: InstalledQemu;
  readonly instance: string;
  readonly resources: HostResources;
  readonly log: Logger;
}

export interface ReadyTemplate {
  readonly frozen: FrozenTemplate;
  readonly boot: BootFiles;
}

/** What a machine that has its disk is booted with. */
export interface BootParts {
  readonly machine: Machine;
  readonly boot: BootFiles;
  readonly startedWith: HostCompatibility;
}

export class TemplateLibrary {
  readonly #options: LibraryOptions;
  readonly #images: TemplateImages;
  readonly #freezes: Freezes;

  private constructor(options: LibraryOptions, images: TemplateImages) {
    this.#options = options;
    this.#images = images;
    this.#freezes = new Freezes(options.log);
  }

  /** Reads the descriptions. Templates whose image exists are ready; the others become so by
   *  `buildImages`. */
  static async open(options: LibraryOptions): Promise<TemplateLibrary> {
    const { assetsFolder, debianMirror: mirror, certificates, contain, cache, log } = options;
    const sources = { mirror, certificates, contain, cache };
    const folder = imagesFolderOf(assetsFolder);
    const images = await TemplateImages.open(await readDescriptions(options.templatesFolder, certificates), {
      fileOf: (description) => imageFile(folder, description),
      make: (description, tell) => ensureImage(folder, description, { ...sources, tell }),
      keep: (description, image) => cache.keep(imageKey(description, sources), image),
      log,
    });
    return new TemplateLibrary(options, images);
  }

  /** The built-in ones that sandboxes and machines are made of. */
  list(): BuiltInTemplate[] {
    return this.#images.descriptions.flatMap((description) => {
      const state = this.#images.stateOf(description.name);
      if (description.builds === true || state === undefined) return [];
      const { id, name, disk_gib } = description;
      const told = { ...{ id, name, disk_gib }, description: description.description, status: state.status };
      return { ...told, ...makingOf(state) };
    });
  }

  /** Names of those whose image `buildImages` builds. */
  builtAhead(): string[] {
    return this.#images.descriptions
      .filter((description) => !isOnDemand(description))
      .map(({ name }) => name);
  }

  /** Throws `unknown_template` where no VM can be made of it, or none of this kind. */
  require(name: string, { isBuild }: { readonly isBuild: boolean }): void {
    const description = this.#images.describe(name);
    const isKnown = description === undefined ? this.#options.own.find(name) !== undefined : true;
    if (!isKnown || (description?.builds === true) !== isBuild) throw unknown(name);
  }

  /** What the user's environment is laid over in VMs of this template, also of an earlier version of it. */
  envOf(name: string): Readonly<Record<string, string>> {
    const { certificates, own } = this.#options;
    const template = own.find(name);
    // In an image that stands on none of ours there are other certificates, or none.
    const isOurs = template === undefined || dirname(template.rootImage) === this.#imagesFolder;
    return {
      ...(certificates === undefined || !isOurs ? {} : certificatesEnv),
      ...(template?.env ?? this.#images.describe(name)?.env),
    };
  }

  /** Nothing where it is built in, or not on this host. */
  defaultsOf(name: string): Partial<CommandDefaults> {
    const template = this.#options.own.find(name);
    return template === undefined ? {} : { user: template.user, workdir: template.workdir };
  }

  /** Whose login shell is part of a built-in template. */
  loginOf(name: string): string | undefined {
    return this.#images.describe(name)?.user;
  }

  /** What its VMs run when they boot from their own disk; nothing where the template is not on this host. */
  startOf(name: string): TemplateImage["start"] {
    return this.#options.own.find(name)?.start ?? this.#images.describe(name)?.start;
  }

  /** The root file system of a built-in template. */
  imageOf(name: string): { readonly file: string; readonly disk_gib: number } {
    const description = this.#images.describe(name);
    if (description === undefined || description.builds === true) throw unknown(name);
    return { file: this.#readyImage(name), disk_gib: description.disk_gib };
  }

  /** Every image of a built-in template, also of earlier versions. */
  images(): Promise<string[]> {
    return filesIn(this.#imagesFolder, (name) => name.endsWith(".ext4"));
  }

  /** The frozen template for this size. The first call for a size takes some seconds, later ones nothing. */
  async frozen(name: string, size: Size): Promise<ReadyTemplate> {
    const qemu = await this.#options.qemu.current();
    const own = this.#options.own.find(name);
    const options =
      own === undefined ? this.#builtIn(name, size, qemu) : this.#freezeOptions(sourceOf(own), size, qemu);
    return { frozen: await this.#freezes.frozen(options), boot: this.#options.boot };
  }

  /** A clone did not wake from it: another one is made at the next use, unless this is the other one already. A cloud gives a machine another
   *  CPU while it is off, and not all that a guest notices of it is in the template's name. */
  async distrust(frozen: FrozenTemplate, error: unknown): Promise<void> {
    this.#options.log.warn({ err: error, folder: frozen.folder }, "no clone wakes from this template");
    // A clone that fails later must not have the other template made twice.
    if (!(await distrust(frozen))) return;
    this.#freezes.forget(frozen);
  }

  /** Files that disks of VMs of this template may be based on here, also those of its earlier versions. */
  async disks(name: string): Promise<{ root_image: string[]; frozen_disk: string[] }> {
    const isOwn = isId("template", name);
    const isOfIt = (entry: string): boolean => entry.startsWith(`${name}-`);
    const frozen = await filesIn(isOwn ? this.#options.ownFrozenFolder : this.#frozenFolder, isOfIt);
    return {
      // One that was built may stand on any of them.
      root_image: (await this.images()).filter((file) => isOwn || isOfIt(basename(file))),
      frozen_disk: frozen.map((folder) => join(folder, vmPaths.disk)),
    };
  }

  /** Those whose image could not be built, and why. */
  imageFailures(): { readonly name: string; readonly reason: string }[] {
    return this.#images.descriptions.flatMap(({ name }) => {
      const state = this.#images.stateOf(name);
      return state?.status === "failed" ? { name, reason: state.failure.reason } : [];
    });
  }

  /** Builds the images that are missing. A failure is in `imageFailures()`, and is tried again later. */
  buildImages(): Promise<void> {
    return this.#images.makeAll();
  }

  /** Resolves when the images that were built are kept for other hosts of the machine, too. */
  get imagesKept(): Promise<void> {
    return this.#images.ended;
  }

  /**
   * Has the image of a built-in template made, before the first VM of it is asked for. Throws
   * `unknown_template`.
   */
  prepare(name: string): void {
    if (this.#images.prepare(name) === undefined) throw unknown(name);
  }

  /** Like `buildImages`, but throws the reason of the first image that could not be built. */
  async requireImages(): Promise<void> {
    await this.buildImages();
    const [failure] = this.imageFailures();
    if (failure !== undefined) throw new Error(failure.reason);
  }

  /** One that is built on demand is built from now on; what is first made of it waits for it, and a start of the host does not. */
  #readyImage(name: string): string {
    const image = this.#images.require(name);
    if (image === undefined) throw unknown(name);
    return image;
  }

  #builtIn(name: string, size: Size, qemu: QemuBuild): FreezeOptions {
    const description = this.#images.describe(name);
    if (description === undefined) throw unknown(name);
    const { start } = description;
    const source = {
      ...{ description, rootImage: this.#readyImage(name), layers: [] },
      ...(start !== undefined && { prepare: (channel: GuestChannel) => startIn(channel, start) }),
    };
    return this.#freezeOptions(source, size, qemu);
  }

  /** The kernel and template that a machine of this size boots with from its own disk: the newest, also
   *  where the disk was made with older ones. */
  async forBoot(size: Size): Promise<BootParts> {
    const qemu = await this.#options.qemu.current();
    return {
      machine: this.#machine(size, qemu),
      boot: this.#options.boot,
      startedWith: compatibilityOf(qemu),
    };
  }

  /** Images and frozen templates that no description leads to and no disk stands on. Not for a folder that several hosts share. */
  async unused(below: ReadonlySet<string>): Promise<string[]> {
    const descriptions = this.#images.descriptions;
    const images = descriptions.map((description) => imageFile(this.#imagesFolder, description));
    const qemu = await this.#options.qemu.current();
    const frozen = descriptions.flatMap((description) =>
      sizes.flatMap((size) =>
        frozenNames(
          this.#freezeOptions(
            { description, rootImage: imageFile(this.#imagesFolder, description), layers: [] },
            size,
            qemu,
          ),
        ),
      ),
    );
    const folders = { images: this.#imagesFolder, frozen: this.#frozenFolder };
    return unusedTemplates(folders, { images, frozen, below });
  }

  /** Folders of images and frozen templates that were not finished. Some are being worked in. */
  async cutOff(): Promise<string[]> {
    return [
      ...(await filesIn(this.#imagesFolder, isCutOffImage)),
      ...(await filesIn(this.#frozenFolder, isCutOffFreeze)),
    ];
  }

  /** Of a template that was taken off this host: its guest is a user's, and may take its time. */
  stopFreezing(id: string): Promise<void> {
    return this.#freezes.stop(id, unknown(id));
  }

  /** What is frozen of a template that was taken off this host, where nothing stands on it. */
  async removeOwn(id: string, below: ReadonlySet<string>): Promise<void> {
    const used = new Set([...below].map((file) => dirname(file)));
    for (const folder of await filesIn(this.#options.ownFrozenFolder, (name) => name.startsWith(`${id}-`)))
      if (!used.has(folder)) await removeTree(folder);
  }

  /** What is frozen of templates that are not built in, where nothing stands on it and no template leads to it. Every host has a folder of its
   *  own for it. */
  async unusedOwn(below: ReadonlySet<string>): Promise<string[]> {
    const { own, ownFrozenFolder, qemu } = this.#options;
    const build = await qemu.current();
    const names = own.list().flatMap(({ id }) => {
      const template = own.find(id);
      if (template === undefined) return [];
      return sizes.flatMap((size) => frozenNames(this.#freezeOptions(sourceOf(template), size, build)));
    });
    const used = new Set([...names, ...[...below].map((file) => basename(dirname(file)))]);
    return filesIn(ownFrozenFolder, (name) => !used.has(name));
  }

  /** The same as `cutOff` of templates that are not built in. */
  cutOffOwn(): Promise<string[]> {
    return filesIn(this.#options.ownFrozenFolder, isCutOffFreeze);
  }

  #machine(size: Size, { accelerator, tscKhz }: QemuBuild): Machine {
    return { accelerator, vcpus: size.vcpus, memoryMib: size.memory_mib, tscKhz };
  }

  #freezeOptions(source: FreezeSource, size: Size, qemu: QemuBuild): FreezeOptions {
    const { resources, instance, boot, ownFrozenFolder } = this.#options;
    return {
      ...{ resources, instance, boot, qemu, size, machine: this.#machine(size, qemu) },
      ...source,
      folder: source.isOwn === true ? ownFrozenFolder : this.#frozenFolder,
    };
  }

  get #imagesFolder(): string {
    return imagesFolderOf(this.#options.assetsFolder);
  }

  get #frozenFolder(): string {
    return join(this.#options.assetsFolder, "frozen");
  }
}

function imagesFolderOf(assetsFolder: string): string {
  return join(assetsFolder, "images");
}

interface FreezeSource extends Pick<FreezeOptions, "description" | "rootImage" | "layers" | "prepare"> {
  /** It is not built in. */
  readonly isOwn?: true;
}

function sourceOf(template: OwnTemplate): FreezeSource {
  const { id, digest, image, rootImage, layers } = template;
  return {
    description: { name: id, digest, disk_gib: image.disk_gib, warm_up: [] },
    ...{ rootImage, layers, isOwn: true },
    prepare: (channel) => prepareOwn(channel, template),
  };
}

async function filesIn(folder: string, isWanted: (name: string) => boolean): Promise<string[]> {
  const names = await readdir(folder).catch(() => [] as string[]);
  return names.filter(isWanted).map((name) => join(folder, name));
}

function unknown(name: string): SkerryError {
  return new SkerryError("unknown_template", `This host has no template "${name}".`);
}
