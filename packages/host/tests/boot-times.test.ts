import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";

test("an examination does not wait for a QEMU that is not there", async () => {
  const module = JSON.stringify(join(import.meta.dirname, "../src/examine/boot-times.ts"));
  const script = `import { bootTimes } from ${module};
    const contain = "/nowhere/contain";
    const machine = { accelerator: "tcg", vcpus: 1, memoryMib: 128 };
    const boot = { kernel: "/nowhere/kernel", initramfs: "/nowhere/initramfs" };
    console.log(await bootTimes({ contain, qemu: "/nowhere/qemu", boot, machine, firmware: undefined, deadlineMs: 600_000 }));
    console.log(process.getActiveResourcesInfo().filter((name) => name === "Timeout").length);
    process.exit();`;
  const { stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "-e", script]);
  expect(stdout).toBe("spawn /nowhere/contain ENOENT, and silent\n0\n");
});
