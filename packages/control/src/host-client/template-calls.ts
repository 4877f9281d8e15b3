// The calls of the host API by which templates are built and kept.

import { Compile } from "typebox/compile";
import {
  FREEZE_WITHIN_MS,
  HostTemplateList,
  SEAL_WITHIN_MS,
  Sealed,
  SEND_LAYERS_WITHIN_MS,
  TemplatePut,
  type SealVm,
  type SendLayers,
  type TemplateImage,
} from "@skerry/contract/host-api/templates";
import {
  FETCH_LAYER_WITHIN_MS,
  STORE_LAYER_WITHIN_MS,
  StoredPieces,
  type FetchLayer,
  type StoreLayer,
} from "@skerry/contract/host-api/stored-layers";
import { Deadline } from "./deadline.ts";
import type { VmRef } from "./vm-ref.ts";
import type { HostTransport } from "./host-transport.ts";

const CALL_DEADLINE_MS = 15_000;
/** The host gives up by itself, with a reason. */
const MARGIN_MS = 15_000;

const shapes = {
  sealed: Compile(Sealed),
  put: Compile(TemplatePut),
  list: Compile(HostTemplateList),
  stored: Compile(StoredPieces),
};

export class TemplateCalls {
  readonly #transport: HostTransport;

  constructor(transport: HostTransport) {
    this.#transport = transport;
  }

  /** What the target of a build's VM holds now. The same `sealId` twice is one seal. */
  seal(vm: VmRef, sealId: string, stop: AbortSignal): Promise<Sealed> {
    const json: SealVm = { execution_id: vm.execution_id, seal_id: sealId };
    const call = { method: "POST", path: `/vms/${encodeURIComponent(vm.id)}/seal`, json } as const;
    return this.#transport.json(call, shapes.sealed, new Deadline(SEAL_WITHIN_MS + MARGIN_MS, stop));
  }

  /** Resolves with the layers that the host lacks. */
  put(id: string, image: TemplateImage, stop?: AbortSignal): Promise<TemplatePut> {
    const call = { method: "PUT", path: pathOf(id), json: image } as const;
    return this.#transport.json(call, shapes.put, new Deadline(CALL_DEADLINE_MS, stop));
  }

  /** The image of a built-in template is made there, where it is not there yet. Resolves before it is. */
  prepare(name: string): Promise<void> {
    const call = { method: "POST", path: `/built-in/${encodeURIComponent(name)}/prepare` } as const;
    return this.#transport.done(call, new Deadline(CALL_DEADLINE_MS));
  }

  /** Resolves when VMs of this size can be cloned from it. The same call twice waits for one freeze. */
  freeze(id: string, size: string, stop: AbortSignal): Promise<void> {
    const call = { method: "POST", path: `${pathOf(id)}/freeze`, json: { size } } as const;
    return this.#transport.done(call, new Deadline(FREEZE_WITHIN_MS + MARGIN_MS, stop));
  }

  /** Resolves when the other host has the layers. It ends with `stop`. */
  send(order: SendLayers, stop: AbortSignal): Promise<void> {
    const call = { method: "POST", path: "/layers/send", json: order } as const;
    return this.#transport.done(call, new Deadline(SEND_LAYERS_WITHIN_MS + MARGIN_MS, stop));
  }

  /** Resolves when it has put pieces of a layer into the object store. It ends with `stop`. */
  store(order: StoreLayer, stop: AbortSignal): Promise<StoredPieces> {
    const call = { method: "POST", path: "/layers/store", json: order } as const;
    return this.#transport.json(call, shapes.stored, new Deadline(STORE_LAYER_WITHIN_MS + MARGIN_MS, stop));
  }

  /** Resolves when it has got a layer from there. It ends with `stop`. */
  fetch(order: FetchLayer, stop: AbortSignal): Promise<void> {
    const call = { method: "POST", path: "/layers/fetch", json: order } as const;
    return this.#transport.done(call, new Deadline(FETCH_LAYER_WITHIN_MS + MARGIN_MS, stop));
  }

  /** Those that were put there. */
  list(stop?: AbortSignal): Promise<HostTemplateList> {
    const call = { method: "GET", path: "/templates" } as const;
    return this.#transport.json(call, shapes.list, new Deadline(CALL_DEADLINE_MS, stop));
  }

  /** Also succeeds where the host does not have it. */
  delete(id: string, stop?: AbortSignal): Promise<void> {
    const call = { method: "DELETE", path: pathOf(id) } as const;
    return this.#transport.done(call, new Deadline(CALL_DEADLINE_MS, stop));
  }
}

function pathOf(id: string): string {
  return `/templates/${encodeURIComponent(id)}`;
}
