// What control asks of a host about templates that are not built in: to keep them, to freeze them, to pass their layers on.

import { Readable } from "node:stream";
import { SkerryError } from "@skerry/contract/errors";
import {
  SEND_LAYERS_WITHIN_MS,
  type SendLayers,
  type TemplateImage,
  type TemplatePut,
} from "@skerry/contract/host-api/templates";
import { findSize } from "@skerry/contract/sizes";
import type { Logger } from "pino";
import type { Layers } from "../vm/disk/layers.ts";
import type { Peers } from "./peers.ts";
import { findLayers } from "../vm/build/build-on.ts";
import { FreezeError, type FreezeStep } from "../templates/frozen.ts";
import type { TemplateLibrary } from "../templates/library.ts";
import type { OwnTemplates } from "../templates/own-templates.ts";

export interface HostTemplatesOptions {
  readonly own: OwnTemplates;
  readonly library: TemplateLibrary;
  readonly layers: Layers;
  readonly peers: Pick<Peers, "sendLayer">;
  /** What the disks of all VMs stand on. */
  readonly allBackingFiles: () => Promise<ReadonlySet<string> | undefined>;
  readonly log: Logger;
}

export class HostTemplates {
  readonly #options: HostTemplatesOptions;

  constructor(options: HostTemplatesOptions) {
    this.#options = options;
  }

  list(): ReturnType<OwnTemplates["list"]> {
    return this.#options.own.list();
  }

  put(id: string, image: TemplateImage): Promise<TemplatePut> {
    return this.#options.own.put(id, image, (of) => findLayers(this.#options, of));
  }

  /** Throws `template_not_found`, `layer_missing`, `unknown_template` where it is deleted meanwhile, and `guest_failed` where its guest does not boot
   *  or its start command fails. */
  async freeze(id: string, sizeName: string): Promise<void> {
    const { own, library, log } = this.#options;
    const size = findSize(sizeName);
    if (size === undefined) throw new SkerryError("unknown_size", `There is no size "${sizeName}".`);
    if (own.find(id) === undefined) {
      if (own.list().some((known) => known.id === id))
        throw new SkerryError("layer_missing", "Layers of the template are not on this host yet.");
      throw new SkerryError("template_not_found", "There is no such template on this host.");
    }
    await library.frozen(id, size).catch((error: unknown) => {
      if (!(error instanceof FreezeError)) throw error;
      // The guest has said what is wrong: its user is told the same.
      if (error.cause instanceof SkerryError) throw error.cause;
      log.warn({ err: error, template: id, size: sizeName }, "a template could not be frozen");
      throw guestFailed(error);
    });
  }

  /** Succeeds also where it is not there, or is being frozen. What VMs stand on stays until they are gone. */
  async delete(id: string): Promise<void> {
    const { own, library, allBackingFiles } = this.#options;
    await own.delete(id);
    await library.stopFreezing(id);
    const below = await allBackingFiles();
    if (below !== undefined) await library.removeOwn(id, below);
  }

  /** Resolves when the other host has all of them. Ends when its caller leaves. */
  async send({ template, address, ticket, layers: digests }: SendLayers, left: AbortSignal): Promise<void> {
    const { layers, library, peers } = this.#options;
    const stop = AbortSignal.any([left, AbortSignal.timeout(SEND_LAYERS_WITHIN_MS)]);
    const to = { address, path: `/templates/${template}`, ticket };
    for (const digest of digests) {
      stop.throwIfAborted();
      const file = await layers.find(digest, await library.images());
      if (file === undefined)
        throw new SkerryError("layer_missing", "The layer is not on this host.", { context: { digest } });
      await peers.sendLayer(to, digest, Readable.from(layers.read(file)), stop);
    }
  }

  /** A layer that another host sends. */
  receive(...order: Parameters<OwnTemplates["receive"]>): Promise<void> {
    return this.#options.own.receive(...order);
  }
}

const howFar: Readonly<Record<FreezeStep, string>> = {
  boot: "its kernel did not get as far as the agent",
  hello: "its agent did not answer",
  "warm-up": "its first commands failed",
  start: "its agent was lost before the start command was ready",
  freeze: "its memory and disk could not be written",
};

/** The guest was built by a user, so its failure is not the host's. */
function guestFailed(error: FreezeError): SkerryError {
  return new SkerryError(
    "guest_failed",
    `No VM could be started from the template's image: ${howFar[error.step]}.`,
    {
      remediation: "It needs an ext4 file system on the whole target, unmounted when it was sealed.",
      context: { log: error.console },
      cause: error,
    },
  );
}
