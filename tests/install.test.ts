// `skerry install`, `skerry upgrade` and `skerry uninstall`.

import { execFile } from "node:child_process";
import {
  chmod,
  cp,
  mkdtemp,
  readdir,
  readFile,
  readlink,
  rm,
  stat,
  symlink,
  writeFile,
} from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { unpackedPackage, type Unpacked } from "./support/package.ts";
import { SystemdMachine } from "./support/systemd-machine.ts";
import { fullTest } from "./support/full-test.ts";

const execute = promisify(execFile);
const UNITS = [
  "skerry-control.service",
  "skerry-host.service",
  "skerry-postgres.service",
  "skerry-vms.service",
  "skerry.target",
];

let unpacked: Unpacked;
beforeAll(async () => {
  unpacked = await unpackedPackage();
});
afterAll(() => unpacked[Symbol.asyncDispose]());

async function skerryOf(tree: string, env: Readonly<Record<string, string>>, ...args: readonly string[]) {
  const { stdout } = await execute(join(tree, "bin/skerry"), args, { env: { ...process.env, ...env } });
  return stdout;
}

test("what is installed needs its package no more, keeps secrets out of the units, and leaves nothing", async () => {
  const root = await mkdtemp(join(unpacked.scratch, "root-"));
  const secret = "postgresql://skerry:s3cret@db.example/skerry";
  const env = { SKERRY_STATE: "/var/lib/skerry", SKERRY_VCPUS_PER_CPU: "8" };
  expect(await skerryOf(unpacked.tree, env, "install", "--root", root)).toContain("start with that system");
  const units = join(root, "etc/systemd/system");
  expect((await readdir(units)).filter((name) => name.startsWith("skerry"))).toEqual(UNITS);
  expect(await readlink(join(units, "multi-user.target.wants/skerry.target"))).toContain("skerry.target");
  // Programs of the package are found below the root, those of the system beside it.
  for (const folder of ["usr/lib/systemd", "etc/systemd"])
    await cp(join("/", folder), join(root, folder), { recursive: true, force: false, dereference: false });
  const files = UNITS.map((name) => join(units, name));
  const { stderr } = await execute("systemd-analyze", ["verify", "--man=no", `--root=${root}`, ...files]);
  expect(stderr.split("\n").filter((line) => line.includes("skerry"))).toEqual([]);

  const version = await readlink(join(root, "usr/local/lib/skerry/current"));
  expect(version).toMatch(/^\d+\.\d+\.\d+-[0-9a-f]{8}$/);
  const installed = join(root, "usr/local/lib/skerry", version);
  expect(await skerryOf(installed, { PATH: "/usr/bin:/bin" }, "--version")).toMatch(/^\d/);
  await expect(skerryOf(unpacked.tree, env, "install", "--root", root)).rejects.toThrow("already_installed");

  expect(await skerryOf(unpacked.tree, {}, "uninstall", "--root", root, "--yes")).toContain(
    "Nothing of it is left",
  );
  const left = (await execute("find", [root, "-iname", "*skerry*"])).stdout;
  expect(left).toBe("");

  await skerryOf(unpacked.tree, { ...env, SKERRY_DATABASE_URL: secret }, "install", "--root", root);
  const settings = join(root, "etc/skerry/skerry.env");
  expect((await stat(settings)).mode & 0o777).toBe(0o600);
  expect(await readFile(settings, "utf8")).toContain(`SKERRY_DATABASE_URL="${secret}"`);
  const texts = await Promise.all(
    (await readdir(units))
      .filter((name) => name.startsWith("skerry"))
      .map((name) => readFile(join(units, name), "utf8")),
  );
  // The administrator's PostgreSQL, and none of ours.
  expect(texts).toHaveLength(UNITS.length - 1);
  expect(texts.join("")).not.toContain("s3cret");
  await rm(root, { recursive: true });
});

test("a state folder that does not outlast a reboot is refused", async () => {
  const refused = skerryOf(
    unpacked.tree,
    { SKERRY_STATE: "/tmp/state" },
    "install",
    "--root",
    unpacked.scratch,
  );
  await expect(refused).rejects.toThrow("does not outlast a reboot");
});

test("where systemctl is missing, it is named before anything is written", async () => {
  const root = await mkdtemp(join(unpacked.scratch, "root-"));
  const programs = await mkdtemp(join(unpacked.scratch, "programs-"));
  for (const name of ["bash", "dirname", "readlink"])
    await symlink(join("/usr/bin", name), join(programs, name));
  const env = { PATH: programs, SKERRY_STATE: "/var/lib/skerry" };
  const refused = skerryOf(unpacked.tree, env, "install", "--root", root);
  await expect(refused).rejects.toThrow("apt-get install --no-install-recommends systemd");
  expect(await readdir(root)).toEqual([]);
});

/** A later version: it has one more migration. */
async function laterVersion(tree: string): Promise<string> {
  const later = `${tree}-later`;
  await cp(tree, later, { recursive: true });
  const file = join(later, "dist/control.js");
  const text = await readFile(file, "utf8");
  const [last, number] = /\{ number: (\d+), name: "[a-z-]+", text: \w+ \}(?=\s*\];)/.exec(text) ?? [];
  if (last === undefined) throw new Error("control.js has no list of migrations");
  const next = `{ number: ${Number(number) + 1}, name: "later", text: "create table later ()" }`;
  await writeFile(file, text.replace(last, `${last}, ${next}`));
  return later;
}

/** A version whose control ends as soon as it serves. */
async function brokenVersion(tree: string): Promise<string> {
  const broken = `${tree}-broken`;
  await cp(tree, broken, { recursive: true });
  const file = join(broken, "dist/control.js");
  await writeFile(file, `if (process.argv[2] === "serve") process.exit(7);\n${await readFile(file, "utf8")}`);
  return broken;
}

/** The machine's own systemd, microVMs in it, and reboots: some minutes. */

fullTest(
  "under systemd it survives restarts, upgrades and reboots, goes back, and leaves nothing",
  { timeout: 30 * 60_000 },
  async () => {
    const state = await mkdtemp("/var/lib/skerry-test-");
    await chmod(state, 0o711);
    const assets = inject("assets");
    await using machine = await SystemdMachine.boot([unpacked.tree.replace(/\/[^/]+$/, ""), assets, state]);
    const later = await laterVersion(unpacked.tree);
    const broken = await brokenVersion(unpacked.tree);
    try {
      const settings = {
        ...{ SKERRY_STATE: state, SKERRY_HOST_ASSETS: assets, SKERRY_WARM_MIN: "0" },
        SKERRY_IMAGE_CACHE: "off",
      };
      const packaged = (...args: readonly string[]) =>
        machine.runWith(settings, join(unpacked.tree, "bin/skerry"), ...args);
      const skerry = (...args: readonly string[]) => machine.run("skerry", ...args);
      // What `skerry up` has started is taken over.
      await packaged("up");
      const create = ["sandbox", "create", "--template", "base", "--timeout", "2h"];
      const id = (await packaged(...create)).trim();
      await packaged("sandbox", "exec", id, "--", "echo 42 > /dev/shm/kept");
      expect(await packaged("install")).toContain("Skerry answers at");
      expect(await skerry("status")).toMatch(/^systemd +running +skerry.target/m);
      const isKept = async (when: string) =>
        expect(await skerry("sandbox", "exec", id, "--", "cat /dev/shm/kept"), when).toBe("42\n");
      await isKept("after the installation");
      const other = (await skerry(...create)).trim();
      const mainPid = (unit: string) => machine.run("systemctl", "show", "-P", "MainPID", unit);

      await expect(skerry("up")).rejects.toThrow("run_by_systemd");
      await machine.run("systemctl", "restart", "skerry-host.service", "skerry-control.service");
      await expect.poll(() => skerry("status").catch(String)).toMatch(/^host +running/m);
      await isKept("after a restart");
      const guest = await machine.run(
        "sh",
        "-c",
        `cat /proc/$(pgrep -f '^/usr/bin/qemu.*:${other}' | head -n1)/cgroup`,
      );
      expect(guest).toMatch(/^0::\/system\.slice\/skerry-vms\.service\/skerry-/m);
      for (const unit of ["skerry-host.service", "skerry-control.service", "skerry-postgres.service"]) {
        const before = await mainPid(unit);
        await machine.run("kill", "-9", before.trim());
        await expect.poll(() => mainPid(unit)).not.toMatch(new RegExp(`^(0|${before.trim()})$`, "m"));
      }
      await expect.poll(() => skerry("sandbox", "exec", id, "--", "true").catch(String)).toBe("");
      await isKept("after kills");

      const first = (await machine.run("readlink", "/usr/local/lib/skerry/current")).trim();
      expect(await machine.run(join(later, "bin/skerry"), "upgrade")).toContain(
        `To go back: skerry upgrade --to ${first}`,
      );
      await isKept("after an upgrade");
      const second = (await machine.run("readlink", "/usr/local/lib/skerry/current")).trim();
      expect(second).not.toBe(first);
      const newer = join(unpacked.scratch, "newer.backup");
      await skerry("backup", newer);
      await skerry("upgrade", "--to", first);
      await isKept("after going back");
      await expect(machine.run(join(broken, "bin/skerry"), "upgrade")).rejects.toThrow(
        `so ${first} runs again`,
      );
      await isKept("after an upgrade that failed");
      expect((await machine.run("readlink", "/usr/local/lib/skerry/current")).trim()).toBe(first);

      const sql = (text: string) =>
        machine.run("runuser", "-u", "skerry", "--", "psql", "-qh", join(state, "run/postgres"), "-c", text);
      await sql("insert into schema_migrations (number, name) values (9999, 'of a much later version')");
      await expect(skerry("upgrade", "--to", second)).rejects.toThrow(`${first} goes on`);
      await sql("delete from schema_migrations where number = 9999");
      await isKept("after an upgrade that was refused");

      const backup = join(unpacked.scratch, "installed.backup");
      await skerry("backup", backup);
      expect((await execute("tar", ["-xOf", backup, "settings.env"])).stdout).toContain(state);
      const restoring = { SKERRY_STATE: "/var/lib/skerry-restored", SKERRY_HOST_ASSETS: assets };
      const restore = (tree: string, file: string) =>
        machine.runWith(restoring, join(tree, "bin/skerry"), "restore", "--accept-unverified", file);
      await expect(restore(unpacked.tree, newer)).rejects.toThrow("backup_newer");
      expect(await restore(later, backup)).toContain("The settings of its service are in");

      const web = (
        await skerry(
          "machine",
          "create",
          "--template",
          "base",
          "--command",
          "sleep infinity",
          "--restart",
          "always",
        )
      ).trim();
      await skerry("machine", "exec", web, "--", "echo stays > /root/kept && sync");
      await machine.shutDown();
      await machine.start();
      await expect
        .poll(() => skerry("machine", "exec", web, "--", "cat /root/kept").catch(String), {
          timeout: 180_000,
        })
        .toBe("stays\n");

      expect(await skerry("uninstall", "--yes", "--purge")).toContain("Nothing of it is left");
      expect(await readdir(state).catch(() => [])).toEqual([]);
      expect(await machine.run("ip", "netns", "list")).toBe("");
      expect(await machine.run("nft", "list", "tables")).toBe("");
      expect(await machine.run("ps", "-eo", "args")).not.toMatch(/qemu|skerry|postgres/);
      expect(await machine.run("find", "/etc", "/usr/local", "-iname", "*skerry*")).toBe("");
    } catch (error) {
      const journal = await machine.run("journalctl", "--no-pager", "-n", "150").catch(String);
      throw new Error(`${String(error)}\n${journal}`, { cause: error });
    } finally {
      await rm(state, { recursive: true, force: true });
    }
  },
);
