import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, expect, test, vi } from "vitest";
import { serviceOf } from "../src/local/servers/services.ts";
import { readLayout } from "../src/local/system/layout.ts";

afterEach(() => vi.unstubAllEnvs());

test("the host that is started gets every setting that a host reads", async () => {
  const config = await readFile(join(import.meta.dirname, "../../host/src/config/config.ts"), "utf8");
  const names = [...new Set([...config.matchAll(/"(SKERRY_\w+)"/g)].map(([, name = ""]) => name))];
  expect(names).toContain("SKERRY_GUEST_KERNEL");
  for (const name of names) vi.stubEnv(name, "some value");
  const user = { uid: 1, gid: 1 };
  const { env } = serviceOf("host", readLayout("/dist", { SKERRY_STATE: "/srv/skerry" }), user);
  expect(Object.keys(env)).toEqual(expect.arrayContaining(names));
  expect(env["SKERRY_GUEST_KERNEL"]).toBe("some value");
});
