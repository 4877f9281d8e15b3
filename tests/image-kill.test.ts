// A host that is killed while Debian's own tools build an image: what they mounted and started ends with it.

import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { NO_IMAGE_CACHE } from "@skerry/contract/hosts/image-cache-folder";
import { LoneHost } from "./support/lone-host.ts";
import { until } from "./support/platform.ts";

const MINUTE_MS = 60_000;

interface Seen {
  readonly pid: string;
  /** What it finds mounted below the folder. */
  readonly mounts: readonly string[];
}

/** Processes that have this folder among their arguments, other than the host itself. */
async function programsIn(folder: string): Promise<Seen[]> {
  const seen = (await readdir("/proc")).map(async (pid) => {
    const words = await readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "");
    if (!words.includes(folder)) return [];
    const mounts = await readFile(`/proc/${pid}/mounts`, "utf8").catch(() => "");
    return [{ pid, mounts: mounts.split("\n").filter((line) => line.includes(folder)) }];
  });
  return (await Promise.all(seen)).flat();
}

test(
  "nothing of mmdebstrap outlasts the host, and the next one removes its folder",
  async () => {
    // Its assets are in its own state folder, so the next host need not ask whether another one is at work there.
    const host = await LoneHost.open("", { SKERRY_WARM_MAX: "0", SKERRY_IMAGE_CACHE: NO_IMAGE_CACHE });
    const images = join(host.folder, "host/assets/images");
    try {
      await until(
        "it has mounted something",
        async () => (await programsIn(images)).some(({ mounts }) => mounts.length > 0),
        5 * MINUTE_MS,
      );
      const [left = ""] = await readdir(images);
      expect(left).toMatch(/^base-building-/);
      // Not on the machine, where nothing would unmount it.
      expect(await readFile("/proc/self/mounts", "utf8")).not.toContain(images);
      await host.end("SIGKILL");
      await until("no program is left", async () => (await programsIn(images)).length === 0);
      expect(await readdir(images)).toEqual([left]);
      await host.start();
      await until("its folder is gone", async () => !(await readdir(images)).includes(left));
      await host.end("SIGTERM");
      await until("no program is left", async () => (await programsIn(images)).length === 0);
    } finally {
      await host.close();
    }
  },
  15 * MINUTE_MS,
);
