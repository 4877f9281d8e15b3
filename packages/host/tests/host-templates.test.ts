// Layers of templates that a host passes on: only as long as its caller waits for it.

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { SendLayers } from "@skerry/contract/host-api/templates";
import { newId } from "@skerry/contract/ids";
import { DEFAULT_SIZE } from "@skerry/contract/sizes";
import { FreezeError } from "../src/templates/frozen.ts";
import { HostTemplates, type HostTemplatesOptions } from "../src/move/host-templates.ts";
import { emptyLayer } from "../src/vm/disk/layer-stream.ts";
import { Layers } from "../src/vm/disk/layers.ts";

const MIB = 1024 ** 2;

let folder: string;
let layers: Layers;
let order: SendLayers;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "skerry-layers-"));
  layers = new Layers(folder, "data-ranges");
  const digests: string[] = [];
  for (const mib of [1, 2]) digests.push((await layers.keep(emptyLayer(mib * MIB), mib * MIB)).digest);
  const [template, ticket] = [newId("template"), "1".repeat(64)];
  order = { template, ticket, address: "unix:/there", layers: digests };
});
afterEach(() => rm(folder, { recursive: true, force: true }));

function templates(sendLayer: HostTemplatesOptions["peers"]["sendLayer"]): HostTemplates {
  return new HostTemplates({
    ...({ own: {}, library: { images: async () => [] } } as unknown as HostTemplatesOptions),
    ...{ layers, peers: { sendLayer }, allBackingFiles: async () => undefined },
  });
}

test("each layer is sent to the other host, in its order", async () => {
  const sent: string[] = [];
  const host = templates(async (to, digest) => void sent.push(`${to.address} ${digest}`));
  await host.send(order, new AbortController().signal);
  expect(sent).toEqual(order.layers.map((digest) => `unix:/there ${digest}`));
});

test("what is on its way ends when the caller leaves, and nothing more is begun", async () => {
  const left = new AbortController();
  const sent: string[] = [];
  const host = templates(async (_to, digest, _content, signal) => {
    sent.push(digest);
    left.abort();
    if (!signal.aborted) throw new Error("it goes on");
    signal.throwIfAborted();
  });
  await expect(host.send(order, left.signal)).rejects.toThrow("aborted");
  await expect(host.send(order, left.signal)).rejects.toThrow("aborted");
  expect(sent).toEqual(order.layers.slice(0, 1));
});

test("a template whose guest does not boot is told with the end of its console, and logged", async () => {
  const logged: unknown[] = [];
  const host = new HostTemplates({
    ...({
      own: { find: () => ({}) },
      library: {
        frozen: async () => {
          throw new FreezeError("boot", { console: "VFS: no root", log: "" }, new Error("closed"));
        },
      },
      log: { warn: (...words: unknown[]) => void logged.push(words) },
    } as unknown as HostTemplatesOptions),
  });
  await expect(host.freeze(newId("template"), DEFAULT_SIZE)).rejects.toMatchObject({
    code: "guest_failed",
    message: expect.stringContaining("did not get as far as the agent"),
    context: { log: "VFS: no root" },
  });
  expect(logged).toHaveLength(1);
});
