// Which room may import which. A room is a folder of src/ with all that one resource has; the rooms lie on floors, and a room imports from
// lower floors only. Rooms on one floor do not know each other.

import { readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { expect, test } from "vitest";
import {
  filesOf,
  floorFault,
  importsOf,
  roomOf,
  unlisted,
  type Floors,
  type Import,
} from "../../../setup/import-floors.ts";

/** From the ground up. A room that is missing here has a floor of its own, above the room before it in `app/rooms.ts`. */
const listed: Floors = [
  ["values", "metrics", "db/migrations", "db/tables", "host-client", "e2b/wire"],
  ["db"],
  ["waits"],
  ["http", "sealing"],
  ["signing"],
  // Types alone: what every room is given, and on whose behalf a request runs.
  ["context.ts", "caller.ts"],
  ["background"],
  ["auth", "audit", "rate-limits"],
  ["idempotency"],
  ["api"],
  // What a room declares.
  ["manifest.ts"],
  ["limits"],
  ["organizations"],
  ["hosts", "logins"],
  ["object-store"],
  ["templates", "joining", "registries"],
  ["capacity"],
  ["moves"],
  ["vms"],
  ["vms/signed-urls", "vms/events"],
  ["vms/egress", "vms/executions", "vms/files", "vms/ports", "vms/metrics"],
  ["vms/exec", "vms/execute", "vms/forward"],
  ["vms/watches"],
  ["vms/calls"],
  ["vms/creation"],
  ["snapshots"],
  ["sandboxes", "machines", "builds"],
  ["clients", "docs", "platform", "usage", "web"],
  ["e2b"],
  ["events"],
  ["app"],
];

/** The only file that may look up, and by type only. */
const CONTEXT = "context.ts";
const FILES_MIN = 200;

const src = join(import.meta.dirname, "../src");
const floors = withManifests(listed, readFileSync(join(src, "app/rooms.ts"), "utf8"));
/** Rooms that are one for all their folders, which only sort their files. */
const sorted = ["apps"];
const inRoom = (file: string): string => {
  const room = sorted.find((one) => file.startsWith(`${one}/`));
  return room === undefined ? file : `${room}/${basename(file)}`;
};
const files = filesOf(src).map(inRoom);
const imports = importsOf(src).map((one) => ({ ...one, from: inRoom(one.from), to: inRoom(one.to) }));

function withManifests(known: Floors, text: string): Floors {
  const folders = new Map<string, string>();
  for (const [, name = "", folder = ""] of text.matchAll(/import \{ (\w+) \} from "\.\.\/(.+)\/room\.ts"/g))
    folders.set(name, folder);
  const order = /const manifests = \[(.*?)\]/s.exec(text)?.[1]?.match(/\w+/g) ?? [];
  const all = [...known];
  let below = 0;
  for (const folder of order.flatMap((name) => folders.get(name) ?? [])) {
    const own = all.findIndex((rooms) => rooms.includes(folder));
    if (own < 0) all.splice(below + 1, 0, [folder]);
    below = own < 0 ? below + 1 : own;
  }
  return all;
}

const isOurs = ({ to }: Import): boolean => !to.startsWith("@") && files.includes(to);
const told = ({ from, to }: Import): string => `${from} -> ${to}`;

/** Why an import is not allowed; undefined where it is. */
function fault(one: Import): string | undefined {
  if (one.to.startsWith("@skerry/"))
    return /^@skerry\/(contract|build-plan)\//.test(one.to) ? undefined : `${told(one)}: another package`;
  if (!isOurs(one) || roomOf(floors, one.from) === roomOf(floors, one.to)) return undefined;
  if (one.to.endsWith("-store.ts")) return `${told(one)}: a store is its own room's alone`;
  if (one.from === CONTEXT) return one.isType ? undefined : `${told(one)}: context.ts imports types alone`;
  return floorFault(floors, one);
}

test("every folder and file of src is on a floor, and as many files were read as there are", () => {
  expect(files.length).toBeGreaterThan(FILES_MIN);
  expect(unlisted(floors, files)).toEqual([]);
  expect(imports.filter(isOurs).length).toBeGreaterThan(FILES_MIN);
});

test("rooms import from lower floors only, no room from another one's store, and of other packages it takes the contract and the planner of builds alone", () => {
  expect(imports.flatMap((one) => fault(one) ?? [])).toEqual([]);
});

const planted: readonly (readonly [what: string, fault: Import, why: string])[] = [
  ["a room above", { from: "hosts/host-rows.ts", to: "moves/mover.ts", isType: false }, "not a lower floor"],
  [
    "a room beside it",
    { from: "sandboxes/sandboxes.ts", to: "machines/machines.ts", isType: false },
    "not a lower floor",
  ],
  ["a type of a room above", { from: "http/http-server.ts", to: CONTEXT, isType: true }, "not a lower floor"],
  [
    "a folder of its own room that stands above it",
    { from: "vms/vm-kind.ts", to: "vms/egress/egress.ts", isType: true },
    "not a lower floor",
  ],
  [
    "another room's store",
    { from: "machines/start-machine.ts", to: "moves/move-store.ts", isType: false },
    "its own room's",
  ],
  [
    "more than a type, in context.ts",
    { from: CONTEXT, to: "auth/token-cache.ts", isType: false },
    "types alone",
  ],
  ["another package", { from: "app/main.ts", to: "@skerry/host", isType: false }, "another package"],
];

test.each(planted)("a file that imports %s is found", (_what, one, why) => {
  expect(fault(one)).toContain(why);
});

test("a room without a line of its own stands above the room before it in the list of rooms", () => {
  const list = `import { aRoom } from "../a/room.ts";
import { bRoom } from "../b/room.ts";
import { newRoom } from "../things/new/room.ts";
const manifests = [
  aRoom,
  newRoom,
  bRoom,
] satisfies readonly Manifest[];`;
  expect(withManifests([["a"], ["b"], ["app"]], list)).toEqual([["a"], ["things/new"], ["b"], ["app"]]);
});

/** Names that a file hands on and does not define: a rule about who imports what would be passed by them. */
function handedOn(text: string): string[] {
  return text.match(/^export\s+(?:type\s+)?(?:\{[^}]*\}|\*)[^;]*;/gm) ?? [];
}

test("a file exports what it defines alone", () => {
  const found = filesOf(src).flatMap((file) =>
    handedOn(readFileSync(join(src, file), "utf8")).map((line) => `${file}: ${line}`),
  );
  expect(found).toEqual([]);
});

test.each([
  'export { lockCapacity } from "./capacity-store.ts";',
  'export type { HostLoad } from "./capacity-store.ts";',
  "export {\n  lockCapacity,\n};",
  'export * from "./capacity-store.ts";',
])("a name that is handed on is found: %s", (line) => {
  expect(handedOn(`import { sql } from "kysely";\n\n${line}\n\nexport const one = 1;\n`)).toEqual([line]);
});
