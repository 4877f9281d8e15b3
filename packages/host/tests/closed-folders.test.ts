import { chmod, mkdir, mkdtemp, readdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { closeFolders } from "../src/system/closed-folders.ts";

test("folders that an earlier version left open are closed, and those that are missing are made closed", async () => {
  const state = await mkdtemp("/tmp/skerry-unit-closed-");
  try {
    for (const [name, mode] of [
      ["own-frozen", 0o755],
      ["layers", 0o711],
      ["assets", 0o755],
    ] as const) {
      await mkdir(join(state, name));
      await chmod(join(state, name), mode);
    }
    await closeFolders(state);
    const modes = await Promise.all(
      (await readdir(state)).toSorted().map(async (name) => {
        const { mode } = await stat(join(state, name));
        return `${name} ${(mode & 0o777).toString(8)}`;
      }),
    );
    const closed = ["layers", "own-frozen", "snapshots", "templates", "vms"].map((name) => `${name} 700`);
    expect(modes).toEqual(["assets 755", ...closed]);
  } finally {
    await rm(state, { recursive: true });
  }
});
