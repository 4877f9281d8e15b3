import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { installCommand, runtimePackages } from "../src/local/doctor/system-packages.ts";

test("doctor's list of packages is the setup's, without those that only build", async () => {
  const text = await readFile(join(import.meta.dirname, "../../../setup/packages.sh"), "utf8");
  const names = runtimePackages(text);
  expect(names).toContain("qemu-system-x86");
  expect(names).not.toContain("gcc");
  expect(() => runtimePackages("OTHER=1")).toThrow("names no packages");
});

test("the command that installs PostgreSQL keeps Debian from making a cluster of its own", () => {
  expect(installCommand(["nftables"])).toBe("apt-get install --no-install-recommends nftables");
  expect(installCommand(["postgresql"])).toMatch(/create_main_cluster=false.*apt-get install/);
});
