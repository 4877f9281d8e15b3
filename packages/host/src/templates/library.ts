// The templates of this host, their status, and the frozen template for each size, made at first use.

import { mkdir, readdir, stat } from "node:fs/promises";
import { basename, join } from "node:path";
import { SkerryError } from "@skerry/contract/errors";
import type { HostCompatibility } from "@skerry/contract/moves/host-compatibility";
import type { Template } from "@skerry/contract/templates/template";
import { sizes, type Size } from "@skerry/contract/sizes";
import type { Logger } from "pino";
import type { HostResources } from "../vm/vm-resources.ts";
import { vmPaths, type Machine } from "../vm/qemu/qemu-arguments.ts";
import { compatibilityOf, type InstalledQemu, type QemuBuild } from "../vm/qemu/installed-qemu.ts";
import type { BootFiles } from "./boot-files.ts";
import { readDescriptions, type TemplateDescription } from "./description.ts";
import { distrust, ensureFrozen, frozenNames, type FreezeOptions, type FrozenTemplate } from "./frozen.ts";
import { certificatesEnv, type ExtraCertificates } from "./extra-certificates.ts";
import { ensureImage, imageFile } from "./image.ts";
import { removeUnusedTemplates } from "./unused-templates.ts";

export interface LibraryOptions {
  /** Descriptions, one folder each. */
  readonly templatesFolder: string;
  /** Images and frozen templates are kept here. */
  readonly assetsFolder: string;
  readonly debianMirror: string | undefined;
  /** What guests trust besides Debian's authorities. */
  readonly certificates: ExtraCertificates | undefined;
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

type ImageState =
  | { readonly status: "building" }
  | { readonly status: "ready"; readonly image: string }
  | { readonly status: "failed"; readonly reason: string };

interface Entry {
  readonly description: TemplateDescription;
  image: ImageState;
}

export class TemplateLibrary {
  readonly #options: LibraryOptions;
  readonly #entries = new Map<string, Entry>();
  readonly #freezing = new Map<string, Promise<FrozenTemplate>>();

  private constructor(options: LibraryOptions, descriptions: readonly TemplateDescription[]) {
    this.#options = options;
    for (const description of descriptions) {
      this.#entries.set(description.name, { description, image: { status: "building" } });
    }
  }

  /** Reads the descriptions. Templates whose image exists are ready; the others become so by
   *  `buildImages`. */
  static async open(options: LibraryOptions): Promise<TemplateLibrary> {
    const library = new TemplateLibrary(
      options,
      await readDescriptions(options.templatesFolder, options.certificates),
    );
    for (const entry of library.#entries.values()) {
      const image = imageFile(library.#imagesFolder, entry.description);
      if (await stat(image).then(Boolean, () => false)) entry.image = { status: "ready", image };
    }
    return library;
  }

  list(): Template[] {
    return [...this.#entries.values()].map(({ description, image }) => ({
      id: description.id,
      name: description.name,
      description: description.description,
      disk_gib: description.disk_gib,
      status: image.status,
    }));
  }

  /** What the user's environment is laid over in VMs of this template, also of an earlier version of it. */
  envOf(name: string): Readonly<Record<string, string>> {
    const { certificates } = this.#options;
    return {
      ...(certificates === undefined ? {} : certificatesEnv),
      ...this.#entries.get(name)?.description.env,
    };
  }

  /** The frozen template for this size. The first call for a size takes some seconds, later ones nothing. */
  async frozen(name: string, size: Size): Promise<ReadyTemplate> {
    const entry = this.#entries.get(name);
    if (entry === undefined)
      throw new SkerryError("unknown_template", `This host has no template "${name}".`);
    const { image } = entry;
    if (image.status !== "ready") throw notReady(name, image);
    const options = this.#freezeOptions(
      entry.description,
      image.image,
      size,
      await this.#options.qemu.current(),
    );
    const [key] = frozenNames(options);
    let freezing = this.#freezing.get(key);
    if (freezing === undefined) {
      freezing = this.#freeze(options);
      this.#freezing.set(key, freezing);
      // A failure rejects all waiting calls, and the next call tries again.
      freezing.catch(() => this.#freezing.delete(key));
    }
    return { frozen: await freezing, boot: this.#options.boot };
  }

  /** A clone did not wake from it: another one is made at the next use, unless this is the other one already. A cloud gives a machine another
   *  CPU while it is off, and not all that a guest notices of it is in the template's name. */
  async distrust(frozen: FrozenTemplate, error: unknown): Promise<void> {
    this.#options.log.warn({ err: error, folder: frozen.folder }, "no clone wakes from this template");
    // A clone that fails later must not have the other template made twice.
    if (!(await distrust(frozen))) return;
    for (const key of this.#freezing.keys())
      if (basename(frozen.folder).startsWith(key)) this.#freezing.delete(key);
  }

  /** Files that disks of VMs of this template may be based on here, also those of its earlier versions. */
  async disks(name: string): Promise<{ root_image: string[]; frozen_disk: string[] }> {
    const inFolder = async (folder: string): Promise<string[]> =>
      (await readdir(folder).catch(() => [] as string[]))
        .filter((entry) => entry.startsWith(`${name}-`))
        .map((entry) => join(folder, entry));
    return {
      root_image: (await inFolder(this.#imagesFolder)).filter((file) => file.endsWith(".ext4")),
      frozen_disk: (await inFolder(this.#frozenFolder)).map((folder) => join(folder, vmPaths.disk)),
    };
  }

  async #freeze(options: FreezeOptions): Promise<FrozenTemplate> {
    const startedMs = Date.now();
    const frozen = await ensureFrozen(options);
    const { description, size } = options;
    this.#options.log.info(
      { template: description.name, size: size.name, ms: Date.now() - startedMs },
      "template ready",
    );
    return frozen;
  }

  /** Builds the images that are missing, one after the other, because each takes a whole core. A failure
   *  is in `list()`. */
  async buildImages(): Promise<void> {
    const { log, debianMirror: mirror, certificates } = this.#options;
    for (const entry of this.#entries.values()) {
      if (entry.image.status === "ready") continue;
      try {
        entry.image = {
          status: "ready",
          image: await ensureImage(this.#imagesFolder, entry.description, { mirror, certificates }),
        };
      } catch (error) {
        const reason = error instanceof Error ? error.message : String(error);
        entry.image = { status: "failed", reason };
        log.error({ err: error, template: entry.description.name }, "a template's image could not be built");
      }
    }
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

  /** Removes images and frozen templates that no description leads to and no disk stands on, and what cut-off builds have left. Only what
   *  was last touched before this time: the rest may be a build, or arrive from another host. Not for a folder
   *  that several hosts share. Returns how many it removed. */
  async sweep(below: ReadonlySet<string>, touchedBeforeMs: number): Promise<number> {
    await mkdir(this.#imagesFolder, { recursive: true });
    const descriptions = [...this.#entries.values()].map((entry) => entry.description);
    const images = descriptions.map((description) => imageFile(this.#imagesFolder, description));
    const qemu = await this.#options.qemu.current();
    const frozen = descriptions.flatMap((description) =>
      sizes.flatMap((size) =>
        frozenNames(this.#freezeOptions(description, imageFile(this.#imagesFolder, description), size, qemu)),
      ),
    );
    const folders = { images: this.#imagesFolder, frozen: this.#frozenFolder };
    return removeUnusedTemplates(folders, { images, frozen, below }, touchedBeforeMs);
  }

  #machine(size: Size, { accelerator, tscKhz }: QemuBuild): Machine {
    return { accelerator, vcpus: size.vcpus, memoryMib: size.memory_mib, tscKhz };
  }

  #freezeOptions(
    description: TemplateDescription,
    rootImage: string,
    size: Size,
    qemu: QemuBuild,
  ): FreezeOptions {
    const { resources, instance, boot } = this.#options;
    return {
      resources,
      instance,
      boot,
      qemu,
      description,
      rootImage,
      size,
      machine: this.#machine(size, qemu),
      folder: this.#frozenFolder,
    };
  }

  get #imagesFolder(): string {
    return join(this.#options.assetsFolder, "images");
  }

  get #frozenFolder(): string {
    return join(this.#options.assetsFolder, "frozen");
  }
}

function notReady(name: string, image: Exclude<ImageState, { status: "ready" }>): SkerryError {
  if (image.status === "building") {
    return new SkerryError("template_not_ready", `The template "${name}" is being built on this host.`, {
      retryAfterS: 15,
    });
  }
  return new SkerryError("template_not_ready", `The template "${name}" could not be built on this host.`, {
    remediation: "The host's log says why.",
    retryAfterS: 300,
  });
}
