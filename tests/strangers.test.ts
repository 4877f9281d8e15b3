// The state folder as another user of the machine finds it, when an organization has worked on it in each of the ways that leave files.

import { spawn } from "node:child_process";
import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { expect, test } from "vitest";
import { skerry } from "./support/platform.ts";
import { sharedPlatform } from "./support/shared.ts";

const MINUTE_MS = 60_000;
const platform = await sharedPlatform();

/** What another user may read or list below the state folder, and why: none of it comes from an organization. */
const OPEN: readonly (readonly [RegExp, string])[] = [
  [/^host\/(private-memory|no-disassembler\.\d)\.so$/, "native pieces of the package"],
  [/^run\/supervisor\.json$/, "pids of the servers and a digest of their programs"],
  [/^host\/empty-memory(\/\d+M)?$/, "files that hold no data, as large as memory"],
  [/^doctor-[^/]+\//, "trial of `skerry doctor`, which has built-in templates alone"],
];

/** Reads paths, one a line, and says which of them it can open, list or connect to. */
const STRANGER = `
import os, socket, stat, sys
for path in sys.stdin.read().split("\\n"):
    try:
        mode = os.stat(path).st_mode
        if stat.S_ISDIR(mode): os.listdir(path)
        elif stat.S_ISSOCK(mode): socket.socket(socket.AF_UNIX).connect(path)
        else: os.close(os.open(path, os.O_RDONLY | os.O_NONBLOCK))
        print(path)
    except OSError: pass
`;

/** Of these paths those that a user with no rights opens. */
async function openToStranger(paths: readonly string[]): Promise<string[]> {
  const ids = ["--reuid", "65534", "--regid", "65534", "--clear-groups", "--inh-caps=-all"];
  const child = spawn("setpriv", [...ids, "python3", "-c", STRANGER], {
    stdio: ["pipe", "pipe", "inherit"],
    cwd: "/",
    // Programs of the machine's, which every user may run.
    env: { PATH: "/usr/bin:/bin" },
  });
  child.stdin.end(paths.join("\n"));
  return (await text(child.stdout)).split("\n").filter((path) => path !== "");
}

test(
  "another user of the machine reads nothing that an organization has stored",
  async () => {
    const { client, state } = platform;
    const backup = join(state, "strangers.backup");
    await using sandbox = await client.sandboxes.create({ template: "base", mode: "persistent" });
    await sandbox.execute("echo private > /root/private");
    const snapshot = await sandbox.snapshot();
    await sandbox.pause();
    await using running = await client.sandboxes.create({ template: "base" });
    await running.execute("echo private > /root/private");
    const machine = await client.machines.create({ template: "base" });
    const build = await client.templates.build({
      name: "strangers",
      from: "base",
      steps: [{ run: "echo private > /srv/private" }],
    });
    try {
      expect(build).toMatchObject({ status: "ready", error: null });
      await using built = await client.sandboxes.create({ template: "strangers" });
      await built.execute("true");
      await skerry({ SKERRY_STATE: state }, "backup", backup);

      const all = await readdir(state, { recursive: true });
      const names = (part: string): string[] => all.filter((path) => path.includes(part));
      // Without these it would show nothing.
      for (const part of [
        ...["host/own-frozen/tpl_", ".layer", `host/snapshots/${snapshot.id}/memory`],
        ...[`host/vms/${sandbox.id}/saved.json`, `host/vms/${running.id}/`, `host/vms/${machine.id}/console`],
        ...["host/templates/tpl_", "log/control.log", "postgres", "keys/root.key", "strangers.backup"],
      ])
        expect(names(part), part).not.toEqual([]);
      const open = await openToStranger([state, ...all.map((path) => join(state, path))]);
      const found = open.map((path) => path.slice(state.length + 1));
      expect(found.filter((path) => !OPEN.some(([pattern]) => pattern.test(path)))).toEqual([]);
      // The stranger is one that can read.
      expect(found).not.toEqual([]);
    } finally {
      await rm(backup, { force: true });
      await client.machines.destroy(machine.id);
      await client.snapshots.delete(snapshot.id);
      await client.templates.delete("strangers").catch(() => undefined);
    }
  },
  20 * MINUTE_MS,
);
