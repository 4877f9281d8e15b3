// What a fake host knows of templates that were built on it.

import { createHash } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import type {
  DiskImage,
  DiskLayer,
  SealVm,
  SendLayers,
  TemplateImage,
} from "@skerry/contract/host-api/templates";
import type { FetchLayer, StoredPieces, StoreLayer } from "@skerry/contract/host-api/stored-layers";
import { SkerryError } from "@skerry/contract/errors";
import type { Vm, VmSpec } from "@skerry/contract/host-api/vm";
import { readBody, sendJson } from "./fake-http.ts";

type Known = Map<string, Vm & { readonly spec: VmSpec }>;
type Call = "seal" | "put" | "list" | "freeze" | "delete" | "send" | "store" | "fetch";

/** Objects of each layer in an object store. */
const PIECES = 3;

/** By address: a host sends to another one itself. */
const fakes = new Map<string, FakeTemplates>();

export class FakeTemplates {
  readonly kept = new Map<string, TemplateImage>();
  /** Digests of those that are here. */
  readonly layers = new Set<string>();
  /** Names of built-in templates whose image was asked for. */
  readonly prepared: string[] = [];
  /** Template and size. */
  readonly frozen = new Set<string>();
  readonly #isLost = ({ digest }: DiskLayer): boolean => !this.layers.has(digest);
  readonly #seals = new Map<string, DiskLayer[]>();
  /** What the host answers instead. */
  readonly failures = new Map<Call, SkerryError>();
  /** Runs before the host answers. */
  before: (call: Call) => Promise<void> = async () => undefined;
  /** What the host says that it has put into the object store. */
  told = (stored: StoredPieces): unknown => stored;
  readonly #vms: () => Known;

  constructor(vms: () => Known) {
    this.#vms = vms;
  }

  listensAt(address: string): void {
    fakes.set(address, this);
  }

  /** It is here with all its layers. */
  has(id: string): boolean {
    return this.kept.get(id)?.image.layers.every(({ digest }) => this.layers.has(digest)) === true;
  }

  /** Undefined: the call is not of a template. */
  serve(request: IncomingMessage, response: ServerResponse): Promise<void> | undefined {
    const [, room, id = "", part] = (request.url ?? "").split("?")[0]?.split("/") ?? [];
    if (room === "built-in" && part === "prepare") {
      this.prepared.push(id);
      response.writeHead(204).end();
      return Promise.resolve();
    }
    if (room === "layers") return this.#serveLayers(id, request, response);
    if (room === "vms" && part === "seal") return this.#seal(id, request, response);
    return room === "templates" ? this.#serveTemplate(id, request, response) : undefined;
  }

  #serveLayers(call: string, request: IncomingMessage, response: ServerResponse): Promise<void> | undefined {
    if (call === "store") return this.#store(request, response);
    if (call === "fetch") return this.#fetch(request, response);
    return call === "send" ? this.#send(request, response) : undefined;
  }

  #serveTemplate(id: string, request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (request.method === "GET") return this.#list(response);
    if (request.method === "PUT") return this.#put(id, request, response);
    return request.method === "DELETE" ? this.#delete(id, response) : this.#freeze(id, request, response);
  }

  /** Before a VM starts; throws where it should be made of a template that is not there. */
  starts({ template, build, machine, from }: VmSpec): void {
    const isMadeOfIt = machine?.disk !== "kept" && from === undefined;
    if (isMadeOfIt && template.startsWith("tpl_") && !this.has(template))
      throw new SkerryError("unknown_template", "no such template");
    if (build?.on.kind === "image" && build.on.image.layers.some(this.#isLost))
      throw new SkerryError("layer_missing", "a layer is not here");
    if ((template === "builder") !== (build !== undefined))
      throw new SkerryError("bad_request", "a builder is for builds alone");
  }

  async #begin(call: Call): Promise<void> {
    await this.before(call);
    const failure = this.failures.get(call);
    if (failure !== undefined) throw failure;
  }

  async #seal(id: string, request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { execution_id, seal_id } = await readBody<SealVm>(request);
    await this.#begin("seal");
    const vm = this.#vms().get(id);
    if (vm === undefined) throw new SkerryError("vm_not_found", "no such VM");
    if (vm.execution_id !== execution_id) throw new SkerryError("stale_execution", "another incarnation");
    const { build } = vm.spec;
    if (build === undefined) throw new SkerryError("bad_request", "it builds nothing");
    const below = build.on.kind === "image" ? build.on.image.layers : [lowest(build.on.kind)];
    for (const layer of below) this.layers.add(layer.digest);
    const seals = this.#seals.get(execution_id) ?? [];
    const digest = createHash("sha256").update(seal_id).digest("hex");
    this.layers.add(digest);
    if (!seals.some((layer) => layer.digest === digest)) seals.push({ digest, bytes: 1_000_000 });
    this.#seals.set(execution_id, seals);
    const image: DiskImage = { layers: [...below, ...seals], disk_gib: build.disk_gib };
    sendJson(response, 200, { image });
  }

  async #put(id: string, request: IncomingMessage, response: ServerResponse): Promise<void> {
    const image = await readBody<TemplateImage>(request);
    await this.#begin("put");
    this.kept.set(id, image);
    sendJson(response, 200, {
      missing: image.image.layers.filter(this.#isLost),
    });
  }

  async #list(response: ServerResponse): Promise<void> {
    await this.#begin("list");
    const items = [...this.kept].map(([id, { image }]) => ({
      id,
      missing: image.layers.filter(this.#isLost),
    }));
    sendJson(response, 200, { items });
  }

  async #freeze(id: string, request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { size } = await readBody<{ size: string }>(request);
    await this.#begin("freeze");
    if (!this.has(id)) throw new SkerryError("template_not_found", "no such template");
    this.frozen.add(`${id} ${size}`);
    response.writeHead(204).end();
  }

  async #send(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { template, address, ticket, layers } = await readBody<SendLayers>(request);
    await this.#begin("send");
    const target = fakes.get(address);
    if (target?.kept.get(template)?.ticket !== ticket) throw new SkerryError("move_failed", "no ticket");
    for (const digest of layers) {
      if (!this.layers.has(digest)) throw new SkerryError("layer_missing", "no such layer");
      target.layers.add(digest);
    }
    response.writeHead(204).end();
  }

  /** What it puts there says which piece of which layer it is, and under which key. */
  async #store(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const order = await readBody<StoreLayer>(request);
    await this.#begin("store");
    if (!this.layers.has(order.digest)) throw new SkerryError("layer_missing", "no such layer");
    const urls = order.urls.slice(0, PIECES - order.first);
    for (const [index, url] of urls.entries()) {
      const body = pieceOf(order, order.first + index);
      const answer = await fetch(url, { method: "PUT", body }).catch(() => undefined);
      if (answer?.ok !== true)
        throw new SkerryError("object_store_unavailable", "the store does not take it");
    }
    const pieces = order.first + urls.length;
    sendJson(response, 200, this.told({ pieces, whole: pieces === PIECES }));
  }

  async #fetch(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const order = await readBody<FetchLayer>(request);
    await this.#begin("fetch");
    for (const [index, url] of order.urls.entries()) {
      const answer = await fetch(url).catch(() => undefined);
      if (answer === undefined)
        throw new SkerryError("object_store_unavailable", "the store does not answer");
      if ((await answer.text()) !== pieceOf(order, index))
        throw new SkerryError("stored_layer_damaged", "It is not what was put there.");
    }
    if (order.urls.length !== PIECES) throw new SkerryError("stored_layer_damaged", "It is cut off.");
    this.layers.add(order.digest);
    response.writeHead(204).end();
  }

  async #delete(id: string, response: ServerResponse): Promise<void> {
    await this.#begin("delete");
    this.kept.delete(id);
    response.writeHead(204).end();
  }
}

function pieceOf({ object, digest, key }: Omit<StoreLayer, "first" | "urls">, index: number): string {
  return [object, digest, key, index].join(" ");
}

/** The file of a built-in template, also below a snapshot, or an empty disk. No seal has made it. */
function lowest(kind: "template" | "snapshot" | "empty"): DiskLayer {
  const digest = createHash("sha256").update(kind).digest("hex");
  return { digest, bytes: kind === "empty" ? 0 : 50_000_000 };
}
