// Layers that a real QEMU puts together, while it has them open as a build's VM has.

import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { runProgram } from "../src/system/run.ts";
import { checkLayer } from "../src/vm/build/check-layer.ts";
import { flatten } from "../src/vm/build/flatten.ts";
import { LOWEST_NODE, TARGET_DEVICE, targetNode } from "../src/vm/qemu/qemu-arguments.ts";
import { Qmp } from "../src/vm/qemu/qmp.ts";

const bounds = { deadlineMs: 30_000 };
const MIB = 1024 ** 2;

let folder: string;
let qemu: ChildProcess | undefined;
beforeEach(async () => void (folder = await mkdtemp(join(tmpdir(), "skerry-flatten-"))));
afterEach(async () => {
  if (qemu !== undefined && qemu.exitCode === null && qemu.kill("SIGKILL")) await once(qemu, "exit");
  await rm(folder, { recursive: true, force: true });
});

const fileOf = (name: string): string => join(folder, name);
const io = (file: string, format: string, ...commands: string[]) =>
  runProgram("qemu-io", ["-f", format, ...commands.flatMap((one) => ["-c", one]), file], bounds);

/** A raw image of 8 MiB, each filled with its pattern, and layers that write a megabyte each, and zeros. */
async function chain(layers: number): Promise<string[]> {
  await runProgram("truncate", ["-s", "8M", fileOf("root")], bounds);
  await io(fileOf("root"), "raw", "write -P 200 0 8M");
  const names = ["root"];
  for (let index = 1; index <= layers; index += 1) {
    const name = `layer-${index}`;
    await runProgram("qemu-img", ["create", "-q", "-f", "qcow2", fileOf(name), "64M"], bounds);
    await io(
      fileOf(name),
      "qcow2",
      `write -P ${index} ${index}M 1M`,
      `write -z ${4 * MIB + index * 65_536} 64k`,
    );
    names.push(name);
  }
  return names;
}

async function open(names: readonly string[], fileBytes?: number): Promise<Qmp> {
  const [root = "", ...layers] = names.slice(0, -1);
  const file = (name: string) => ({ driver: "file", filename: fileOf(name) });
  const lowest = { "node-name": LOWEST_NODE, driver: "raw", "read-only": true, file: file(root) };
  const backing = layers.reduce<object>(
    (below, name) => ({ driver: "qcow2", "read-only": true, file: file(name), backing: below }),
    lowest,
  );
  const target = JSON.stringify(targetNode(TARGET_DEVICE, fileOf(names.at(-1) ?? ""), backing));
  const socket = fileOf("qmp.sock");
  const limit = fileBytes === undefined ? "unlimited" : fileBytes / 1024;
  const args = ["-M", "microvm", "-nodefaults", "-display", "none", "-S", "-blockdev", target];
  const device = ["-device", `virtio-blk-device,drive=${TARGET_DEVICE}`];
  const command = ["qemu-system-x86_64", ...args, ...device, "-qmp", `unix:${socket},server=on,wait=off`];
  // As in `launch.c`, a write beyond the limit fails and ends nothing.
  const limited = `trap "" XFSZ; ulimit -f ${limit}; exec "$@"`;
  qemu = spawn("bash", ["-c", limited, "bash", ...command], { stdio: "ignore" });
  return Qmp.connect(socket, AbortSignal.timeout(30_000));
}

const layer = { digest: "0".repeat(64), bytes: MIB };
const order = (names: readonly string[]) => ({
  ...{ node: TARGET_DEVICE, folder, endMs: performance.now() + 60_000 },
  layers: names.map(() => layer),
});

test("what many layers hold is one layer then, which shows the same over the lowest, and no more than they hold", async () => {
  const names = await chain(3);
  const qmp = await open(names);
  await flatten(qmp, order(names));
  await flatten(qmp, order(names));
  await qmp.execute("quit");
  await once(qemu as ChildProcess, "exit");
  const flat = fileOf("layer-3");
  await checkLayer(flat);
  const over = { driver: "qcow2", file: { driver: "file", filename: flat } };
  const all = `json:${JSON.stringify({ ...over, backing: { driver: "raw", file: { driver: "file", filename: fileOf("root") } } })}`;
  const alone = `json:${JSON.stringify({ ...over, backing: null })}`;
  const shows = ["read -P 200 0 1M", ...[1, 2, 3].map((index) => `read -P ${index} ${index}M 1M`)];
  const zeros = `read -P 0 ${4 * MIB + 65_536} 192k`;
  const shown = await runProgram(
    "qemu-io",
    ["-r", ...[...shows, zeros, "read -P 200 5M 3M"].flatMap((one) => ["-c", one]), all],
    bounds,
  );
  expect(shown).not.toMatch(/fail/i);
  expect(shown.match(/read \d+\/\d+ bytes/g)).toHaveLength(6);
  const map = await runProgram("qemu-img", ["map", "--output=json", alone], bounds);
  const held = (JSON.parse(map) as { present: boolean; data: boolean; length: number }[]).filter(
    ({ present }) => present,
  );
  const bytes = (isData: boolean): number =>
    held.reduce((sum, { data, length }) => sum + (data === isData ? length : 0), 0);
  expect({ data: bytes(true), zeros: bytes(false) }).toEqual({ data: 3 * MIB, zeros: 3 * 65_536 });
});

test("a result that is larger than a file of the VM may be is refused as such, and can be asked for again", async () => {
  const names = await chain(3);
  const qmp = await open(names, 2 * MIB);
  for (const _again of [1, 2])
    await expect(flatten(qmp, order(names))).rejects.toMatchObject({ code: "disk_full" });
  await expect(
    flatten(qmp, { ...order(names), layers: [layer, { ...layer, bytes: 2 ** 50 }] }),
  ).rejects.toMatchObject({ code: "no_capacity" });
  expect(await qmp.execute("query-jobs")).toEqual([]);
});

test("what takes too long is ended", async () => {
  const said: string[] = [];
  const execute = async (command: string) => {
    said.push(command);
    return command === "query-jobs" ? [{ id: "flatten", status: "running" }] : undefined;
  };
  await expect(flatten({ execute }, { ...order([]), endMs: 0 })).rejects.toMatchObject({
    code: "guest_timeout",
  });
  expect(said).toEqual(["query-jobs", "query-jobs", "block-job-cancel"]);
});
