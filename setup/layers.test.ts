// Imports point one way: between packages, and between the folders of a package.

import { readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import {
  filesOf,
  floorFault,
  importsOf,
  unlisted,
  type Floors,
  type Import as FloorImport,
} from "./import-floors.ts";

const packages = join(import.meta.dirname, "../packages");

/** Which of our packages each may import. */
const mayImport: Readonly<Record<string, readonly string[]>> = {
  contract: [],
  control: ["contract"],
  host: ["contract"],
  sdk: ["contract"],
  cli: ["sdk", "contract"],
  dashboard: ["sdk", "contract"],
};

/** Folders of the host, outermost first: each may import itself and those to its right, and all may import what lies in src/. */
const hostLayers = ["examine", "http", "move", "vm", "templates", "guest", "names", "network"];
/** A template is made by running a VM, and a VM wakes from a template: these two know each other's nouns. */
const hostSiblings = new Set(["vm -> templates", "templates -> vm", "guest -> vm"]);
/** Folders of the host's `vm/`, outermost first. All may import what lies in `vm/` itself, except what stands above them. */
const vmLayers = [
  "checks",
  "adoption",
  "creation",
  "build",
  "saved",
  "warm",
  "lifecycle",
  "start",
  "metrics",
  "qemu",
  "disk",
];
const aboveVmLayers: readonly string[] = ["vm/engine.ts", "vm/end-requests.ts"];

interface Import {
  readonly from: string;
  readonly to: string;
}

/** What is wrong with an import of one file of the host by another, both relative to its src/; undefined where nothing is. */
function hostFault({ from, to }: Import): string | undefined {
  const [fromLayer = "", fromRoom = ""] = from.split("/");
  const [toLayer = "", toRoom = ""] = to.split("/");
  const isBackwards = (layers: readonly string[], outer: string, inner: string): boolean =>
    layers.includes(outer) && layers.includes(inner) && layers.indexOf(inner) < layers.indexOf(outer);
  if (isBackwards(hostLayers, fromLayer, toLayer) && !hostSiblings.has(`${fromLayer} -> ${toLayer}`))
    return `${from} -> ${to}`;
  if (fromLayer !== "vm" || toLayer !== "vm") return undefined;
  const reachesUp = aboveVmLayers.includes(to) && vmLayers.includes(fromRoom);
  return reachesUp || isBackwards(vmLayers, fromRoom, toRoom) ? `${from} -> ${to}` : undefined;
}

function sources(name: string): { file: string; text: string }[] {
  const root = join(packages, name, "src");
  return readdirSync(root, { recursive: true, encoding: "utf8" })
    .filter((file) => /\.tsx?$/.test(file))
    .map((file) => ({ file, text: readFileSync(join(root, file), "utf8") }));
}

test.each(Object.keys(mayImport))("the package %s imports only what it may", (name) => {
  const wrong = sources(name).flatMap(({ file, text }) =>
    [...text.matchAll(/from "@skerry\/([a-z]+)/g)]
      .map(([, target]) => target ?? "")
      .filter((target) => !(mayImport[name] ?? []).includes(target))
      .map((target) => `${file} -> ${target}`),
  );
  expect(wrong).toEqual([]);
});

test("no package reaches into another one's folders", () => {
  const wrong = Object.keys(mayImport).flatMap((name) =>
    sources(name)
      .filter(({ text }) => /from "(\.\.\/)+packages\//.test(text))
      .map(({ file }) => `${name}/${file}`),
  );
  expect(wrong).toEqual([]);
});

test("the folders of the host import one way", () => {
  const files = sources("host");
  const imports = files.flatMap(({ file, text }) =>
    [...text.matchAll(/from "(\.\.?\/[^"]+)"/g)].map(([, to = ""]) => ({
      from: file,
      to: join(dirname(file), to),
    })),
  );
  expect(files.length).toBeGreaterThan(80);
  expect(imports.length).toBeGreaterThan(200);
  expect(imports.flatMap((one) => hostFault(one) ?? [])).toEqual([]);
});

test("every folder of the host has its place", () => {
  const folders = sources("host").map(({ file }) => dirname(file));
  const known = [".", "vm", ...hostLayers, ...vmLayers.map((room) => `vm/${room}`)];
  expect(folders.filter((folder) => !known.includes(folder))).toEqual([]);
});

test.each<[Import, boolean]>([
  [{ from: "network/slots.ts", to: "http/server.ts" }, true],
  [{ from: "vm/warm/warm-pool.ts", to: "move/moves.ts" }, true],
  [{ from: "vm/qemu/qmp.ts", to: "vm/lifecycle/vm-table.ts" }, true],
  [{ from: "vm/start/clone.ts", to: "vm/engine.ts" }, true],
  [{ from: "move/moves.ts", to: "vm/engine.ts" }, false],
  [{ from: "vm/lifecycle/vm-table.ts", to: "vm/start/clone.ts" }, false],
  [{ from: "vm/qemu/qemu.ts", to: "vm/record.ts" }, false],
  [{ from: "templates/frozen.ts", to: "vm/qemu/qmp.ts" }, false],
])("the import %j is a fault: %s", (one, isFault) => {
  expect(hostFault(one) !== undefined).toBe(isFault);
});

/** The rooms of the packages that share control's nouns; control's own are in its tests. A new room is a word here. */
const floorsOf: Readonly<Record<string, Floors>> = {
  contract: [
    ["."],
    ["audit", "checks", "connections", "guest-api", "limits", "moves", "templates", "usage", "vms"],
    ["builds/plan"],
    ["builds", "host-api", "machines", "organizations", "registries", "sandboxes", "sealing", "snapshots"],
    ["hosts"],
    ["joining", "platform"],
    ["events"],
  ],
  cli: [
    ["."],
    ["local/system"],
    ["local/servers"],
    ["local/backup", "local/doctor"],
    ["local/install"],
    // Of a server elsewhere, which the local `status` shows where it is not this machine's.
    ["commands/server-status.ts"],
    ["local", "commands/vms"],
    [
      "commands/builds",
      "commands/copy",
      "commands/hosts",
      "commands/machines",
      "commands/organizations",
      "commands/registries",
      "commands/sandboxes",
      "commands/snapshots",
    ],
    ["commands/templates"],
    ["commands"],
    ["program.ts"],
    ["main.ts", "client-main.ts"],
  ],
};

test.each(Object.entries(floorsOf))("the rooms of %s import from lower floors only", (name, floors) => {
  const src = join(packages, name, "src");
  const files = filesOf(src);
  const own = importsOf(src).filter(({ to }) => files.includes(to));
  expect(files.length).toBeGreaterThan(40);
  expect(own.length).toBeGreaterThan(80);
  expect(unlisted(floors, files)).toEqual([]);
  expect(own.flatMap((one) => floorFault(floors, one) ?? [])).toEqual([]);
});

test.each<[string, FloorImport]>([
  ["contract", { from: "vms/egress.ts", to: "hosts/host.ts", isType: true }],
  ["contract", { from: "sandboxes/sandbox.ts", to: "machines/machine.ts", isType: false }],
  ["contract", { from: "errors.ts", to: "audit/audit-event.ts", isType: false }],
  ["cli", { from: "local/system/layout.ts", to: "local/servers/postgres.ts", isType: true }],
  ["cli", { from: "commands/vms/vm-exec.ts", to: "main.ts", isType: false }],
])("in %s the import %j is a fault", (name, one) => {
  expect(floorFault(floorsOf[name] ?? [], one)).toContain("not a lower floor");
});

test("a folder that no floor lists is found, and a floor without a folder", () => {
  expect(unlisted([["."], ["hosts"]], ["errors.ts", "hosts/host.ts", "disks/disk.ts"])).toEqual(["disks"]);
  expect(unlisted([["."], ["hosts"]], ["errors.ts"])).toEqual(["hosts"]);
});
