// Templates that were put on a host: remembered whole or not at all, and what they stand on stays.

import { createHash } from "node:crypto";
import { mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { pino } from "pino";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { DiskLayer, TemplateImage } from "@skerry/contract/host-api/templates";
import { newId } from "@skerry/contract/ids";
import { OwnTemplates } from "../src/templates/own-templates.ts";
import { emptyLayer } from "../src/vm/disk/layer-stream.ts";
import { Layers } from "../src/vm/disk/layers.ts";
import { backingPlaces } from "../src/vm/disk/backing-files.ts";

const MIB = 1024 ** 2;
const ticket = "1".repeat(64);

let state: string;
let layers: Layers;
let templates: OwnTemplates;

beforeEach(async () => {
  state = await mkdtemp(join(tmpdir(), "skerry-own-"));
  layers = new Layers(placesOf(state).layers, "data-ranges");
  templates = await opened(state);
});
afterEach(() => rm(state, { recursive: true, force: true }));

const placesOf = (stateFolder: string) =>
  backingPlaces({ stateFolder, assetsFolder: join(stateFolder, "a") });

function opened(stateFolder: string): Promise<OwnTemplates> {
  const places = placesOf(stateFolder);
  return OwnTemplates.open({
    folder: join(stateFolder, "templates"),
    places,
    layers,
    log: pino({ level: "silent" }),
  });
}

/** Layers that hold nothing, of so many MiB each. */
async function imageOf(...sizesMib: number[]): Promise<TemplateImage["image"]> {
  const digests = await Promise.all(
    sizesMib.map(async (mib) => {
      const hash = createHash("sha256");
      for await (const part of emptyLayer(mib * MIB)) hash.update(part);
      return { digest: hash.digest("hex"), bytes: 0 };
    }),
  );
  return { layers: digests, disk_gib: 1 };
}

const plain = { env: { A: "b" }, user: "web", workdir: "/srv" };

/** As a host looks for them, without images of built-in templates. */
async function findLayers(image: TemplateImage["image"]): Promise<{ found: string[]; missing: DiskLayer[] }> {
  const found: string[] = [];
  const missing: DiskLayer[] = [];
  for (const layer of image.layers) {
    const file = await layers.find(layer.digest, []);
    if (file === undefined) missing.push(layer);
    else found.push(file);
  }
  return { found, missing };
}

test("a template whose layers are missing is no template yet; they come from a host with the ticket, each once it was asked for", async () => {
  const id = newId("template");
  const image = await imageOf(1, 2);
  expect(await templates.put(id, { ...plain, image, ticket }, findLayers)).toEqual({ missing: image.layers });
  expect(templates.find(id)).toBeUndefined();
  const send = (digest: string, shown: string | undefined, mib: number) =>
    templates.receive(id, { digest, ticket: shown }, Readable.from(emptyLayer(mib * MIB)));
  const [first = "", second = ""] = image.layers.map(({ digest }) => digest);
  await expect(send(first, "2".repeat(64), 1)).rejects.toMatchObject({ code: "forbidden" });
  await expect(send(first, undefined, 1)).rejects.toMatchObject({ code: "forbidden" });
  await expect(send("f".repeat(64), ticket, 1)).rejects.toMatchObject({ code: "forbidden" });
  // One that claims another's digest, and one larger than any disk of the template.
  await expect(send(first, ticket, 2)).rejects.toThrow("its content is another");
  await expect(send(first, ticket, 2048)).rejects.toThrow("it is too large");
  await send(first, ticket, 1);
  await send(second, ticket, 2);
  expect(await templates.put(id, { ...plain, image, ticket }, findLayers)).toEqual({ missing: [] });
  await expect(send(first, ticket, 1)).rejects.toMatchObject({ code: "forbidden" });
  expect(templates.find(id)).toMatchObject({ ...plain, id, rootImage: layers.pathOf(first) });
  // The next host process knows it, also where the state folder lies elsewhere by then.
  expect((await opened(state)).find(id)).toEqual(templates.find(id));
});

test("an id means one image for good, until it is deleted", async () => {
  const id = newId("template");
  const image = await imageOf(1);
  await templates.put(id, { ...plain, image }, findLayers);
  await templates.put(id, { ...plain, image }, findLayers);
  const other = templates.put(id, { ...plain, user: null, image }, findLayers);
  await expect(other).rejects.toMatchObject({ code: "bad_request" });
  await templates.delete(id);
  await templates.delete(id);
  expect(await readdir(join(state, "templates"))).toEqual([]);
  await templates.put(id, { ...plain, user: null, image }, findLayers);
});

test("what a template stands on stays, also what has not come yet; where one cannot be read, everything does", async () => {
  const id = newId("template");
  const image = await imageOf(1, 2);
  await templates.put(id, { ...plain, image }, findLayers);
  const files = image.layers.map(({ digest }) => layers.pathOf(digest));
  expect(templates.backingFiles()).toEqual(files);
  await writeFile(join(state, "templates", `${newId("template")}.json.part`), "cut o");
  expect((await opened(state)).backingFiles()).toEqual(files);
  await writeFile(join(state, "templates", `${newId("template")}.json`), "{}");
  expect((await opened(state)).backingFiles()).toBeUndefined();
});

test("those that cannot be read keep everything until each of them is deleted, or put again", async () => {
  const [deleted, again] = [newId("template"), newId("template")];
  for (const id of [deleted, again]) await writeFile(join(state, "templates", `${id}.json`), "{}");
  templates = await opened(state);
  await templates.delete(newId("template"));
  await templates.delete(deleted);
  expect(templates.backingFiles()).toBeUndefined();
  const image = await imageOf(1);
  await templates.put(again, { ...plain, image }, findLayers);
  expect(templates.backingFiles()).toEqual(image.layers.map(({ digest }) => layers.pathOf(digest)));
});
