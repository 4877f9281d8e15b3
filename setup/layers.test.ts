// Imports point one way: between packages, and between the folders of a package.

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { filesOf, floorFault, importsOf, unlisted, type Floors, type Import } from "./import-floors.ts";

const packages = join(import.meta.dirname, "../packages");

/** Which of our packages each may import. */
const mayImport: Readonly<Record<string, readonly string[]>> = {
  contract: [],
  "build-plan": ["contract"],
  control: ["contract", "build-plan"],
  host: ["contract"],
  sdk: ["contract", "build-plan"],
  cli: ["sdk", "contract", "build-plan"],
  dashboard: ["sdk", "contract"],
};

function sources(name: string): { file: string; text: string }[] {
  const root = join(packages, name, "src");
  return readdirSync(root, { recursive: true, encoding: "utf8" })
    .filter((file) => /\.tsx?$/.test(file))
    .map((file) => ({ file, text: readFileSync(join(root, file), "utf8") }));
}

test.each(Object.keys(mayImport))("the package %s imports only what it may", (name) => {
  const wrong = sources(name).flatMap(({ file, text }) =>
    [...text.matchAll(/from "@skerry\/([a-z-]+)/g)]
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

/** The rooms of the packages, but for control's, which are in its tests. A new room is a word here. */
const floorsOf: Readonly<Record<string, Floors>> = {
  contract: [
    ["."],
    ["certificates", "secrets"],
    ["audit", "checks", "connections", "guest-api", "limits", "moves", "templates", "usage", "vms"],
    ["builds"],
    ["apps"],
    ["host-api", "machines", "organizations", "registries", "sandboxes", "sealing", "snapshots"],
    ["hosts"],
    ["joining", "platform"],
    ["events"],
  ],
  "build-plan": [["."], ["context", "detect"], ["dockerfile"], ["scripts"], ["plan"]],
  sdk: [
    ["errors"],
    ["folder", "settings"],
    ["http"],
    ["events"],
    ["generated"],
    ["vms/executions", "vms/files", "vms/forward"],
    ["vms"],
    ["apps", "audit", "builds", "machines", "organizations", "sandboxes"],
    ["templates"],
    ["skerry.ts"],
  ],
  cli: [
    ["errors", "generated"],
    ["output"],
    ["."],
    ["input"],
    ["local/system"],
    ["local/servers"],
    ["local/backup", "local/doctor"],
    ["local/install"],
    // Of a server elsewhere, which the local `status` shows where it is not this machine's.
    ["commands/server-status.ts"],
    ["local", "commands/vms"],
    ["commands/resources"],
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
    ["commands/apps", "commands/templates"],
    ["commands/secrets"],
    ["commands"],
    ["program"],
    ["main.ts", "client-main.ts"],
  ],
  dashboard: [
    [".", "generated"],
    ["live"],
    ["ui"],
    // The free room of hosts, which both the reasons and the panel of a host show.
    ["hosts/room.ts"],
    ["why"],
    ["hosts", "organization", "templates", "vm"],
    ["apps", "builds", "overview"],
    ["pages"],
    ["shell"],
    ["main.tsx"],
  ],
  host: [
    ["system"],
    ["network", "vm/disk"],
    ["config", "names", "vm/qemu"],
    ["edge", "guest", "vm/metrics"],
    ["vm/record"],
    ["templates"],
    ["vm/start"],
    ["vm/lifecycle", "vm/warm"],
    ["vm/checks", "vm/saved"],
    ["vm/adoption", "vm/build"],
    ["vm/creation"],
    ["vm/engine"],
    ["move"],
    ["app"],
    ["examine", "http"],
    ["run-host.ts"],
    ["main.ts"],
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

test.each<[string, Import]>([
  ["contract", { from: "vms/egress.ts", to: "hosts/host.ts", isType: true }],
  ["contract", { from: "sandboxes/sandbox.ts", to: "machines/machine.ts", isType: false }],
  ["contract", { from: "errors.ts", to: "audit/audit-event.ts", isType: false }],
  ["build-plan", { from: "scripts/builder-scripts.ts", to: "plan/step-key.ts", isType: false }],
  ["build-plan", { from: "build-plan.ts", to: "detect/found-app.ts", isType: true }],
  ["sdk", { from: "http/http.ts", to: "vms/vm-calls.ts", isType: true }],
  ["sdk", { from: "sandboxes/sandbox.ts", to: "machines/machines.ts", isType: false }],
  ["cli", { from: "output/tables.ts", to: "cli.ts", isType: true }],
  ["cli", { from: "local/system/layout.ts", to: "local/servers/postgres.ts", isType: true }],
  ["cli", { from: "commands/vms/vm-exec.ts", to: "main.ts", isType: false }],
  ["dashboard", { from: "ui/table.tsx", to: "why/why.tsx", isType: false }],
  ["dashboard", { from: "router.ts", to: "live/live.ts", isType: true }],
  ["dashboard", { from: "pages/build.tsx", to: "shell/pages.ts", isType: true }],
  ["host", { from: "network/slots.ts", to: "http/server.ts", isType: false }],
  ["host", { from: "vm/warm/warm-pool.ts", to: "move/moves.ts", isType: false }],
  ["host", { from: "vm/qemu/qmp.ts", to: "vm/record/record.ts", isType: true }],
  ["host", { from: "templates/frozen.ts", to: "vm/start/clone.ts", isType: false }],
  ["host", { from: "vm/lifecycle/vm-table.ts", to: "vm/engine/engine.ts", isType: true }],
])("in %s the import %j is a fault", (name, one) => {
  expect(floorFault(floorsOf[name] ?? [], one)).toContain("not a lower floor");
});

test("a folder that no floor lists is found, and a floor without a folder", () => {
  expect(unlisted([["."], ["hosts"]], ["errors.ts", "hosts/host.ts", "disks/disk.ts"])).toEqual(["disks"]);
  expect(unlisted([["."], ["hosts"]], ["errors.ts"])).toEqual(["hosts"]);
});
