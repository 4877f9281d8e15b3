// The calls of the host API by which templates are built and kept.

import { Compile } from "typebox/compile";
import { Sealed, TemplatePut, type SealVm, type TemplateImage } from "@skerry/contract/host-api/templates";
import { Deadline } from "./deadline.ts";
import type { VmRef } from "./host-client.ts";
import type { HostTransport } from "./host-transport.ts";

const CALL_DEADLINE_MS = 15_000;
/** A disk is read whole, and written as a layer. */
const SEAL_DEADLINE_MS = 600_000;
/** A guest boots and gets ready, and its memory is written. */
const FREEZE_DEADLINE_MS = 900_000;

const shapes = { sealed: Compile(Sealed), put: Compile(TemplatePut) };

export class TemplateCalls {
  readonly #transport: HostTransport;

  constructor(transport: HostTransport) {
    this.#transport = transport;
  }

  /** What the target of a build's VM holds now. The same `sealId` twice is one seal. */
  seal(vm: VmRef, sealId: string, stop: AbortSignal): Promise<Sealed> {
    const json: SealVm = { execution_id: vm.execution_id, seal_id: sealId };
    const call = { method: "POST", path: `/vms/${encodeURIComponent(vm.id)}/seal`, json } as const;
    return this.#transport.json(call, shapes.sealed, new Deadline(SEAL_DEADLINE_MS, stop));
  }

  /** Resolves with the layers that the host lacks. */
  put(id: string, image: TemplateImage, stop?: AbortSignal): Promise<TemplatePut> {
    const call = { method: "PUT", path: pathOf(id), json: image } as const;
    return this.#transport.json(call, shapes.put, new Deadline(CALL_DEADLINE_MS, stop));
  }

  /** Resolves when VMs of this size can be cloned from it. The same call twice waits for one freeze. */
  freeze(id: string, size: string, stop: AbortSignal): Promise<void> {
    const call = { method: "POST", path: `${pathOf(id)}/freeze`, json: { size } } as const;
    return this.#transport.done(call, new Deadline(FREEZE_DEADLINE_MS, stop));
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
