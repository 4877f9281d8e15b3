// What a host promises of templates that are built: in a VM of the template `builder`, on its second disk, sealed into layers, and used by
// sandboxes and machines from then on. Asked as control asks.

import type { Stats } from "node:fs";
import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import type { ErrorBody } from "@skerry/contract/errors";
import type { HostInfo } from "@skerry/contract/host-api/host-info";
import type { DiskImage, TemplateImage, VmBuild } from "@skerry/contract/host-api/templates";
import { newId } from "@skerry/contract/ids";
import { LoneHost } from "./support/lone-host.ts";
import { LoneVms } from "./support/lone-vms.ts";
import { nothingWaits, until } from "./support/platform.ts";
import { drawn, isFullRun, noteSampled } from "./support/sampling.ts";

const MINUTE_MS = 60_000;

let host: LoneHost;
let vms: LoneVms;

async function putTemplate(image: DiskImage, more: Partial<TemplateImage> = {}): Promise<string> {
  const id = newId("template");
  const template: TemplateImage = { image, env: {}, user: null, workdir: null, ...more };
  expect(await host.call("PUT", `/templates/${id}`, template)).toEqual({
    status: 200,
    body: { missing: [] },
  });
  return id;
}

const freeze = (id: string) =>
  host.call<ErrorBody>("POST", `/templates/${id}/freeze`, { size: "shared-cpu-1x" });

beforeAll(async () => {
  host = await LoneHost.open(inject("assets"), nothingWaits);
  vms = new LoneVms(host);
  const build: VmBuild = { on: { kind: "empty" }, disk_gib: 1 };
  // Its image is built when the first build wants it.
  await vms.destroy(await vms.startOnceReady("bld_first", { template: "builder", build }));
}, 10 * MINUTE_MS);
afterAll(() => host.close());

const frozenFolder = (): string => join(host.folder, "host/own-frozen");
const onBase: VmBuild = { on: { kind: "template", template: "base" }, disk_gib: 4 };

test("what a build writes over a template is a template of its own, with its environment, user and folder", async () => {
  const build = await vms.startBuild("bld_onbase", onBase);
  await vms.sh(
    build,
    "mount /dev/vdb /mnt && echo built > /mnt/srv/built && chown 65534 /mnt/srv/built && umount /mnt",
  );
  const image = await vms.seal(build, "seal_1");
  expect(image).toMatchObject({ disk_gib: 4, layers: [{}, {}] });
  expect(await vms.seal(build, "seal_1")).toEqual(image);
  await vms.destroy(build);
  const template = await putTemplate(image, { env: { GREETING: "hello" }, user: "nobody", workdir: "/srv" });
  expect(await freeze(template)).toMatchObject({ status: 204 });
  const sandbox = await vms.start("sbx_of", { template });
  expect(
    await vms.sh(sandbox, "cat built; pwd; whoami; echo $GREETING $HOME; ls -l built | cut -d' ' -f3"),
  ).toBe("built\n/srv\nnobody\nhello /nonexistent\nnobody\n");
  await vms.destroy(sandbox);
  await host.call("DELETE", `/templates/${template}`);
  expect(await vms.put("sbx_after", { template })).toMatchObject({
    status: 422,
    body: { code: "unknown_template" },
  });
  expect(await readdir(frozenFolder())).toEqual([]);
});

/** A root file system of one program: busybox, by all names that it knows. */
const BUSYBOX = [
  "set -e; mkfs.ext4 -q -L root /dev/vdb 512M; mount /dev/vdb /mnt; mkdir -p /mnt/bin /mnt/etc /mnt/srv /mnt/var/log",
  "cp /bin/busybox /mnt/bin/busybox; for name in $(busybox --list); do [ -e /mnt/bin/$name ] || ln -s busybox /mnt/bin/$name; done",
  "echo root:x:0:0::/root:/bin/sh > /mnt/etc/passwd; echo web:x:500:500::/srv:/bin/sh >> /mnt/etc/passwd",
  "echo root:x:0: > /mnt/etc/group; echo web:x:500: >> /mnt/etc/group; chown 500:500 /mnt/srv",
  "mkdir -p /mnt/run/app/of && chown 500:500 /mnt/run/app && chmod 0750 /mnt/run/app && echo kept > /mnt/run/app/of/file && ln -s app /mnt/run/link",
  "printf '10.9.8.7 db' > /mnt/etc/hosts; umount /mnt",
].join("\n");

const WRITTEN_BYTES = 32 * 1024 ** 2;

/** A template whose guest would not be ready for ten minutes, and is deleted when its start command runs. */
async function deleteWhileItStarts(image: DiskImage): Promise<void> {
  const template = await putTemplate(image, {
    start: {
      command: `head -c ${WRITTEN_BYTES} /dev/urandom > /srv/begun; sync; sleep 600`,
      ready: { kind: "file", path: "/never" },
      timeout_ms: 10 * MINUTE_MS,
    },
  });
  // Whatever fails below, this is waited for.
  const freezing = freeze(template).catch((error: unknown) => error);
  // A folder is there before its disk.
  const disks = async (): Promise<Stats[]> => {
    const found = (await readdir(frozenFolder())).map((name) =>
      stat(join(frozenFolder(), name, "disk.qcow2")).catch(() => undefined),
    );
    return (await Promise.all(found)).filter((one) => one !== undefined);
  };
  await until(
    "its start command has begun",
    async () =>
      isDeepStrictEqual(
        (await disks()).map(({ size }) => size > WRITTEN_BYTES),
        [true],
      ),
    5 * MINUTE_MS,
  );
  expect(await host.call("DELETE", `/templates/${template}`)).toMatchObject({ status: 204 });
  expect(await readdir(frozenFolder())).toEqual([]);
  expect(await freezing).toMatchObject({ status: 422, body: { code: "unknown_template" } });
}

test("a root file system of another kind runs as well: its start command is frozen with it, runs again after a boot, and it can be paused, kept and stopped", async () => {
  const build = await vms.startBuild("bld_busybox", { on: { kind: "empty" }, disk_gib: 1 });
  await vms.sh(build, BUSYBOX);
  const sealedFirst = await vms.seal(build, "seal_1");
  // The VM and what it has sealed outlive the host process.
  await host.end("SIGKILL");
  await host.start();
  await vms.sh(build, "mount /dev/vdb /mnt && echo 'it is served' > /mnt/srv/index.html && umount /mnt");
  const image = await vms.seal(build, "seal_2");
  expect(image.layers.slice(0, 2)).toEqual(sealedFirst.layers);
  expect(image.layers).toHaveLength(3);
  expect(await vms.seal(build, "seal_1")).toEqual(sealedFirst);
  for (const refused of ["pause", "snapshots"])
    expect(
      await host.call("POST", `/vms/${build.id}/${refused}`, {
        execution_id: build.executionId,
        ...(refused === "snapshots" ? { snapshot_id: newId("snapshot") } : {}),
      }),
    ).toMatchObject({ status: 409, body: { code: "not_snapshotable" } });
  expect(await host.call("GET", `/vms/${build.id}/manifest?execution_id=${build.executionId}`)).toMatchObject(
    {
      status: 409,
      body: { code: "move_refused" },
    },
  );
  await vms.destroy(build);

  const conditions = [
    { kind: "port", port: 8080 },
    { kind: "command", command: "sleep 1" },
  ] as const;
  const first = drawn("conditions of a start that fails", conditions.length);
  const tried = conditions.filter((_, at) => isFullRun || at === first);
  noteSampled({
    title: "conditions of a start that fails",
    taken: tried.length,
    all: conditions.length,
  });
  for (const ready of tried) {
    const command = "echo there is no way >&2; exit 7";
    const failing = await putTemplate(image, { start: { command, ready, timeout_ms: 10 * MINUTE_MS } });
    expect(await freeze(failing), "the condition's time is not waited for").toMatchObject({
      status: 422,
      body: { code: "template_start_failed", context: { exit_code: 7, log: "there is no way" } },
    });
    await host.call("DELETE", `/templates/${failing}`);
  }

  const ready = { kind: "port", port: 8080 } as const;
  const over = await putTemplate(image, {
    start: { command: "echo that was all", ready, timeout_ms: 10 * MINUTE_MS },
  });
  expect(await freeze(over), "no process is left that could listen").toMatchObject({
    status: 422,
    body: { code: "template_start_failed", context: { exit_code: 0, log: "that was all" } },
  });
  await host.call("DELETE", `/templates/${over}`);

  await deleteWhileItStarts(image);

  const template = await putTemplate(image, {
    ...{ user: "web", env: { GREETING: "hello" } },
    start: {
      command: "exec httpd -f -p 8080 -h /srv",
      ready: { kind: "http", port: 8080, path: "/index.html" },
      timeout_ms: 60_000,
    },
  });
  expect(await freeze(template)).toMatchObject({ status: 204 });
  const served = "wget -qO- http://127.0.0.1:8080/index.html; whoami; pwd; echo $GREETING";
  const answers = "it is served\nweb\n/srv\nhello\n";
  const sandbox = await vms.start("sbx_served", { template });
  expect(await vms.sh(sandbox, served)).toBe(answers);
  // Files of the image at places where a guest mounts something, or writes its own name.
  const there =
    "stat -c '%a %u:%g' /run/app; readlink /run/link; cat /run/link/of/file; stat -c %a /run/lock; cat /etc/hosts";
  expect(await vms.sh(sandbox, there)).toBe(
    "750 500:500\napp\nkept\n1777\n127.0.0.1\tlocalhost\n::1\tlocalhost ip6-localhost\n10.9.8.7 db\n127.0.1.1\tsbx-served\n",
  );

  const snapshot_id = newId("snapshot");
  const order = { execution_id: sandbox.executionId, snapshot_id };
  expect(await host.call("POST", "/vms/sbx_served/snapshots", order)).toMatchObject({ status: 200 });
  const fork = await vms.start("sbx_fork", { template, from: { kind: "snapshot", snapshot_id } });
  expect(await vms.sh(fork, served)).toBe(answers);
  await vms.destroy(fork);
  await host.call("POST", "/vms/sbx_served/pause", { execution_id: sandbox.executionId });
  const resumed = await vms.start("sbx_served", { template, from: { kind: "paused" } });
  expect(await vms.sh(resumed, served)).toBe(answers);
  await host.call("POST", "/vms/sbx_served/pause", { execution_id: resumed.executionId });
  const rebooted = await vms.start("sbx_served", { template, from: { kind: "paused", reboot: true } });
  expect(await vms.sh(rebooted, served)).toBe(answers);
  await vms.destroy(rebooted);
  await host.call("DELETE", `/snapshots/${snapshot_id}`);

  const fresh = await vms.start("mch_served", { template, machine: { command: null, disk: "new" } });
  await vms.sh(fresh, "echo kept > /srv/kept");
  const stop = { execution_id: fresh.executionId, grace_ms: 1_000 };
  expect(await host.call("POST", "/vms/mch_served/stop", stop)).toMatchObject({
    body: { status: "stopped" },
  });
  const booted = await vms.start("mch_served", { template, machine: { command: null, disk: "kept" } });
  expect(await vms.sh(booted, served)).toBe(answers);
  await vms.sh(booted, "rm /srv/index.html");
  await host.call("POST", "/vms/mch_served/stop", { ...stop, execution_id: booted.executionId });
  const changed = await vms.start("mch_served", { template, machine: { command: null, disk: "kept" } });
  expect(await vms.sh(changed, "ls; whoami"), "what never becomes ready keeps no machine away").toBe(
    "kept\nweb\n",
  );
  await vms.destroy(changed);
  await host.call("DELETE", `/templates/${template}`);
});

/** Layers of an image at most, of which the next seal makes two. */
const DEPTH_MAX = 8;

test("templates are built on templates without an end: their layers are put together, and each has what all before it wrote", async () => {
  let generation = 0;
  const depths: number[] = [];
  /** Each of these seals of one build writes a file, and removes the one before. */
  const sealed = async (on: VmBuild["on"], count: number): Promise<DiskImage[]> => {
    const build = await vms.startBuild("bld_generation", { on, disk_gib: 1 });
    if (on.kind === "empty") await vms.sh(build, BUSYBOX);
    const images: DiskImage[] = [];
    for (let at = 0; at < count; at += 1) {
      generation += 1;
      const write = `echo ${generation} > /mnt/srv/${generation}; rm -f /mnt/srv/${generation - 1}`;
      await vms.sh(build, `mount /dev/vdb /mnt && { ${write}; umount /mnt; }`);
      images.push(await vms.seal(build, `seal_${at}`));
    }
    await vms.destroy(build);
    depths.push(...images.map(({ layers }) => layers.length));
    return images;
  };
  // The first seal of an empty disk leaves two, too.
  const [first] = (await sealed({ kind: "empty" }, DEPTH_MAX - 2)).slice(-1) as [DiskImage];
  // The second seal of this build is the one too many, and what stands on the first of them begins with it.
  const [full] = (await sealed({ kind: "image", image: first }, 2)) as [DiskImage];
  // Later seals stand on the layer that was put together, until there are too many once more.
  const [last] = (await sealed({ kind: "image", image: full }, DEPTH_MAX + 1)).slice(-1) as [DiskImage];
  expect(depths).toEqual([2, 3, 4, 5, 6, 7, ...[8, 2], ...[2, 3, 4, 5, 6, 7, 8, 2, 3]]);
  const template = await putTemplate(last);
  expect(await freeze(template)).toMatchObject({ status: 204 });
  const sandbox = await vms.start("sbx_generation", { template });
  expect(await vms.sh(sandbox, `ls /srv; cat /srv/${generation}`)).toBe(
    `${generation}\n${DEPTH_MAX - 1}\n${generation}\n`,
  );
  await vms.destroy(sandbox);
  await host.call("DELETE", `/templates/${template}`);
});

test("an image without a shell runs, and says what it lacks when a command is asked of it", async () => {
  const build = await vms.startBuild("bld_bare", { on: { kind: "empty" }, disk_gib: 1 });
  await vms.sh(
    build,
    "mkfs.ext4 -q /dev/vdb 64M; mount /dev/vdb /mnt; cp /bin/busybox /mnt/app; umount /mnt",
  );
  const template = await putTemplate(await vms.seal(build, "seal_1"));
  await vms.destroy(build);
  expect(await freeze(template)).toMatchObject({ status: 204 });
  const sandbox = await vms.start("sbx_bare", { template });
  await expect(vms.sh(sandbox, "true")).rejects.toThrow("program_missing");
  await vms.destroy(sandbox);
  await host.call("DELETE", `/templates/${template}`);
});

test("what is no root file system is refused when it is frozen, and nothing of it stays", async () => {
  const build = await vms.startBuild("bld_nothing", { on: { kind: "empty" }, disk_gib: 1 });
  await vms.sh(build, "echo no file system > /dev/vdb");
  const template = await putTemplate(await vms.seal(build, "seal_1"));
  expect(await freeze(template)).toMatchObject({ status: 502, body: { code: "guest_failed" } });
  expect(await readdir(frozenFolder())).toEqual([]);
  await host.call("DELETE", `/templates/${template}`);
  // More than its image may have, past every file system.
  await vms.sh(build, "dd if=/dev/zero of=/dev/vdb bs=1M count=1150 conv=fsync 2>&1");
  const order = { execution_id: build.executionId, seal_id: "seal_2" };
  expect(await host.call("POST", "/vms/bld_nothing/seal", order)).toMatchObject({
    status: 422,
    body: { code: "disk_full" },
  });
  await vms.destroy(build);
  expect(await host.files("bld_nothing")).toEqual([]);
});

test("builds stand on what is there, and their template is for nothing else", async () => {
  const missing: DiskImage = { layers: [{ digest: "0".repeat(64), bytes: 1 }], disk_gib: 1 };
  const on = (origin: VmBuild["on"], disk_gib = 4) =>
    vms.put("bld_refused", { template: "builder", build: { on: origin, disk_gib } });
  const refusals = [
    [await on({ kind: "image", image: missing }), 409, "layer_missing"],
    [await on({ kind: "template", template: "nothing" }), 422, "unknown_template"],
    [await on({ kind: "template", template: "builder" }, 16), 422, "unknown_template"],
    [await on({ kind: "template", template: "base" }, 1), 400, "bad_request"],
    [await vms.put("bld_refused", { template: "base", build: onBase }), 422, "unknown_template"],
    [await vms.put("sbx_refused", { template: "builder" }), 422, "unknown_template"],
    [await vms.put("sbx_refused", { template: newId("template") }), 422, "unknown_template"],
  ] as const;
  for (const [{ status, body }, wanted, code] of refusals)
    expect({ status, code: body.code }).toEqual({ status: wanted, code });
  expect(await host.call("GET", "/vms")).toMatchObject({ body: { items: [] } });
  const { body } = await host.call<HostInfo>("GET", "/info");
  expect(body.templates.map(({ name }) => name)).not.toContain("builder");
});
