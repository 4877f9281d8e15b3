// Templates that were put on this host: an image of layers, and what holds for the VMs that are made of it. Each is a file; what it stands on
// stays as long as it is there.

import { createHash, timingSafeEqual } from "node:crypto";
import { mkdir, open, readdir, readFile, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { SkerryError } from "@skerry/contract/errors";
import { TemplateImage, type DiskLayer, type TemplatePut } from "@skerry/contract/host-api/templates";
import { isId } from "@skerry/contract/ids";
import type { Logger } from "pino";
import { Type, type Static } from "typebox";
import { Compile } from "typebox/compile";
import { CLOSED_MODE } from "../system/closed-folders.ts";
import type { Layers } from "../vm/disk/layers.ts";
import { placedFile, type BackingPlaces } from "../vm/disk/backing-files.ts";
import { withinDiskReserve } from "../vm/disk/disk-reserve.ts";
import { syncFolder } from "../system/sync-folder.ts";
import { fileMibOf } from "../vm/record/vm-resources.ts";

const { ticket: _once, ...kept } = TemplateImage.properties;
const Content = Type.Object(kept, { additionalProperties: false });
type Content = Static<typeof Content>;

const Stored = Type.Object(
  {
    format: Type.Literal(1),
    content: Content,
    /** Files of its layers, the lowest first; absent while some are missing. */
    files: Type.Optional(Type.Array(Type.String({ minLength: 1 }), { minItems: 1 })),
  },
  { additionalProperties: false },
);
type Stored = Static<typeof Stored>;
const storedShape = Compile(Stored);

export interface OwnTemplate extends Content {
  readonly id: string;
  /** Of all that it says. */
  readonly digest: string;
  readonly rootImage: string;
  readonly layers: readonly string[];
}

export interface OwnTemplatesOptions {
  readonly folder: string;
  readonly places: BackingPlaces;
  readonly layers: Layers;
  readonly log: Logger;
}

/** Finds the layers of an image. */
type FindLayers = (image: Content["image"]) => Promise<{ found: string[]; missing: DiskLayer[] }>;

const SUFFIX = ".json";
const MIB = 1024 ** 2;

export class OwnTemplates {
  readonly #options: OwnTemplatesOptions;
  readonly #known = new Map<string, Stored>();
  /** What another host has to show to send a template's layers. */
  readonly #tickets = new Map<string, string>();
  /** Ids of those whose file could not be read, so it is not known what they stand on. */
  readonly #unread = new Set<string>();

  private constructor(options: OwnTemplatesOptions) {
    this.#options = options;
  }

  /** What cannot be read is left alone and told in the log. */
  static async open(options: OwnTemplatesOptions): Promise<OwnTemplates> {
    const { folder, places, log } = options;
    const templates = new OwnTemplates(options);
    await mkdir(folder, { recursive: true, mode: CLOSED_MODE });
    for (const name of await readdir(folder)) {
      const file = join(folder, name);
      const id = name.slice(0, -SUFFIX.length);
      if (!name.endsWith(SUFFIX) || !isId("template", id)) {
        // It was cut off.
        await rm(file, { recursive: true, force: true }).catch((error: unknown) =>
          log.warn({ err: error, file }, "an unfinished template could not be removed; it stays"),
        );
        continue;
      }
      try {
        templates.#known.set(id, placed(await readStored(file), places));
      } catch (error) {
        templates.#unread.add(id);
        log.error({ err: error, file }, "a template cannot be read; what it stands on stays");
      }
    }
    return templates;
  }

  list(): { id: string; missing: DiskLayer[] }[] {
    return [...this.#known].map(([id, { content, files }]) => ({
      id,
      missing: files === undefined ? content.image.layers : [],
    }));
  }

  /** Undefined where it is not here, or not with all its layers. */
  find(id: string): OwnTemplate | undefined {
    const stored = this.#known.get(id);
    if (stored?.files === undefined) return undefined;
    const [rootImage = "", ...layers] = stored.files;
    return { id, ...stored.content, digest: digestOf(stored.content), rootImage, layers };
  }

  /** Remembers it, on the disk. The layers that are missing can be sent by a host that shows the ticket. */
  async put(id: string, { ticket, ...content }: TemplateImage, findLayers: FindLayers): Promise<TemplatePut> {
    const before = this.#known.get(id);
    if (before !== undefined && digestOf(before.content) !== digestOf(content))
      throw new SkerryError("bad_request", "Another template has this id.");
    const { found, missing } = await findLayers(content.image);
    const stored: Stored = {
      ...{ format: 1, content },
      ...(missing.length === 0 ? { files: found } : {}),
    };
    if (ticket !== undefined && missing.length > 0) this.#tickets.set(id, ticket);
    else this.#tickets.delete(id);
    await this.#save(id, stored);
    this.#unread.delete(id);
    this.#known.set(id, stored);
    return { missing };
  }

  /** Succeeds also where there is none. */
  async delete(id: string): Promise<void> {
    const { folder } = this.#options;
    this.#known.delete(id);
    this.#tickets.delete(id);
    await rm(join(folder, `${id}${SUFFIX}`), { force: true });
    this.#unread.delete(id);
    await syncFolder(folder);
  }

  /** A layer that another host sends. Throws `forbidden` for what was not asked for. */
  async receive(
    id: string,
    { digest, ticket }: { readonly digest: string; readonly ticket: string | undefined },
    content: Readable,
  ): Promise<void> {
    // One error for all of it, so that a caller without a ticket learns nothing of what is here.
    if (!isSame(this.#tickets.get(id), ticket) || this.#claim(id, digest) === undefined)
      throw new SkerryError("forbidden", "The ticket is not good for this.");
    await this.keepLayer(id, digest, content);
  }

  /** A layer of a template that is here, from another host or the object store. Throws `template_not_found` where none has such a layer, and LayerFault. */
  async keepLayer(id: string, digest: string, content: AsyncIterable<Uint8Array>): Promise<void> {
    const { layers, folder } = this.#options;
    const claim = this.#claim(id, digest);
    if (claim === undefined)
      throw new SkerryError("template_not_found", "No template on this host has such a layer.");
    await layers.receive(claim, withinDiskReserve(folder, content));
  }

  /** Files that templates stand on, also those that are on their way. Undefined where that is not known of every one. */
  backingFiles(): readonly string[] | undefined {
    if (this.#unread.size > 0) return undefined;
    return [...this.#known.values()].flatMap(({ content, files = [] }) => [
      ...files,
      ...content.image.layers.map(({ digest }) => this.#options.layers.pathOf(digest)),
    ]);
  }

  #claim(id: string, digest: string): { readonly digest: string; readonly maxBytes: number } | undefined {
    const image = this.#known.get(id)?.content.image;
    if (image?.layers.some((layer) => layer.digest === digest) !== true) return undefined;
    return { digest, maxBytes: fileMibOf(image.disk_gib) * MIB };
  }

  async #save(id: string, stored: Stored): Promise<void> {
    const { folder } = this.#options;
    const file = join(folder, `${id}${SUFFIX}`);
    const part = await open(`${file}.part`, "w", 0o600);
    try {
      await part.writeFile(JSON.stringify(stored));
      await part.sync();
    } finally {
      await part.close();
    }
    await rename(`${file}.part`, file);
    await syncFolder(folder);
  }
}

async function readStored(file: string): Promise<Stored> {
  const stored: unknown = JSON.parse(await readFile(file, "utf8"));
  if (storedShape.Check(stored)) return stored;
  throw new Error(`${file} is not as a host writes it`);
}

/** The state folder may have been moved since it was written. */
function placed({ files, ...stored }: Stored, places: BackingPlaces): Stored {
  if (files === undefined) return stored;
  return { ...stored, files: files.map((file) => placedFile(file, places)) };
}

function digestOf(content: Content): string {
  const sorted = Object.entries(content).toSorted(([one], [other]) => (one < other ? -1 : 1));
  return createHash("sha256").update(JSON.stringify(sorted)).digest("hex");
}

function isSame(known: string | undefined, shown: string | undefined): boolean {
  const digest = (text: string): Buffer => createHash("sha256").update(text).digest();
  return known !== undefined && timingSafeEqual(digest(known), digest(shown ?? ""));
}
