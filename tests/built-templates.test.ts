// What a host promises of templates that are built: in a VM of the template `builder`, on its second disk, sealed into layers, and used by
// sandboxes and machines from then on. Asked as control asks.

import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import type { ErrorBody } from "@skerry/contract/errors";
import type { HostInfo } from "@skerry/contract/host-api/host-info";
import type { DiskImage, Sealed, TemplateImage, VmBuild } from "@skerry/contract/host-api/templates";
import type { Vm, VmSpec } from "@skerry/contract/host-api/vm";
import { newId } from "@skerry/contract/ids";
import { LoneHost } from "./support/lone-host.ts";
import { until } from "./support/platform.ts";

const MINUTE_MS = 60_000;

let host: LoneHost;
let starts = 0;

interface Started {
  readonly id: string;
  readonly executionId: string;
}

const egress: VmSpec["egress"] = {
  mode: "deny_all",
  allow_cidrs: [],
  deny_cidrs: [],
  allow_ports: [],
  dns: false,
};

function put(id: string, spec: Pick<VmSpec, "template"> & Partial<VmSpec>) {
  const whole: VmSpec = {
    ...{ execution_id: `exe_${(starts += 1)}`, size: "shared-cpu-1x", hostname: id.replace("_", "-") },
    ...{ env: {}, egress, egress_version: 1 },
    ...spec,
  };
  return host.call<Vm & ErrorBody>("PUT", `/vms/${id}`, whole);
}

async function start(id: string, spec: Pick<VmSpec, "template"> & Partial<VmSpec>): Promise<Started> {
  const { status, body } = await put(id, spec);
  expect({ status, body }).toMatchObject({ status: 200, body: { status: "running" } });
  return { id, executionId: body.execution_id };
}

function startBuild(id: string, build: VmBuild): Promise<Started> {
  return start(id, { template: "builder", build });
}

const sh = ({ id, executionId }: Started, command: string) => host.execute(id, executionId, command);
const destroy = ({ id, executionId }: Started) =>
  host.call("DELETE", `/vms/${id}?execution_id=${executionId}`);

async function seal({ id, executionId }: Started, sealId: string): Promise<DiskImage> {
  const { status, body } = await host.call<Sealed & ErrorBody>("POST", `/vms/${id}/seal`, {
    execution_id: executionId,
    seal_id: sealId,
  });
  expect({ status, body }).toMatchObject({ status: 200 });
  return body.image;
}

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
  host = await LoneHost.open(inject("assets"), { SKERRY_WARM_MAX: "0" });
  // Its image is built when the first build wants it.
  await until(
    "the template of builds is ready",
    async () => {
      const { status, body } = await put("bld_first", {
        template: "builder",
        build: { on: { kind: "empty" }, disk_gib: 1 },
      });
      if (status === 200) await destroy({ id: "bld_first", executionId: body.execution_id });
      else expect(body.code).toBe("template_not_ready");
      return status === 200;
    },
    8 * MINUTE_MS,
  );
});
afterAll(() => host.close());

const onBase: VmBuild = { on: { kind: "template", template: "base" }, disk_gib: 4 };

test("what a build writes over a template is a template of its own, with its environment, user and folder", async () => {
  const build = await startBuild("bld_onbase", onBase);
  await sh(
    build,
    "mount /dev/vdb /mnt && echo built > /mnt/srv/built && chown 65534 /mnt/srv/built && umount /mnt",
  );
  const image = await seal(build, "seal_1");
  expect(image).toMatchObject({ disk_gib: 4, layers: [{}, {}] });
  expect(await seal(build, "seal_1")).toEqual(image);
  await destroy(build);
  const template = await putTemplate(image, { env: { GREETING: "hello" }, user: "nobody", workdir: "/srv" });
  expect(await freeze(template)).toMatchObject({ status: 204 });
  const sandbox = await start("sbx_of", { template });
  expect(await sh(sandbox, "cat built; pwd; whoami; echo $GREETING $HOME; ls -l built | cut -d' ' -f3")).toBe(
    "built\n/srv\nnobody\nhello /nonexistent\nnobody\n",
  );
  await destroy(sandbox);
  await host.call("DELETE", `/templates/${template}`);
  expect(await put("sbx_after", { template })).toMatchObject({
    status: 422,
    body: { code: "unknown_template" },
  });
  expect(await readdir(join(host.folder, "host/own-frozen"))).toEqual([]);
});

/** A root file system of one program: busybox, by all names that it knows. */
const BUSYBOX = [
  "set -e; mkfs.ext4 -q -L root /dev/vdb 512M; mount /dev/vdb /mnt; mkdir -p /mnt/bin /mnt/etc /mnt/srv /mnt/var/log",
  "cp /bin/busybox /mnt/bin/busybox; for name in $(busybox --list); do [ -e /mnt/bin/$name ] || ln -s busybox /mnt/bin/$name; done",
  "echo root:x:0:0::/root:/bin/sh > /mnt/etc/passwd; echo web:x:500:500::/srv:/bin/sh >> /mnt/etc/passwd",
  "echo root:x:0: > /mnt/etc/group; echo web:x:500: >> /mnt/etc/group; umount /mnt",
].join("\n");

test("a root file system of another kind runs as well: its start command is frozen with it, and it can be paused, kept and stopped", async () => {
  const build = await startBuild("bld_busybox", { on: { kind: "empty" }, disk_gib: 1 });
  await sh(build, BUSYBOX);
  const first = await seal(build, "seal_1");
  // The VM and what it has sealed outlive the host process.
  await host.end("SIGKILL");
  await host.start();
  await sh(build, "mount /dev/vdb /mnt && echo 'it is served' > /mnt/srv/index.html && umount /mnt");
  const image = await seal(build, "seal_2");
  expect(image.layers.slice(0, 2)).toEqual(first.layers);
  expect(image.layers).toHaveLength(3);
  expect(await seal(build, "seal_1")).toEqual(first);
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
  await destroy(build);

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
  const sandbox = await start("sbx_served", { template });
  expect(await sh(sandbox, served)).toBe(answers);

  const snapshot_id = newId("snapshot");
  const order = { execution_id: sandbox.executionId, snapshot_id };
  expect(await host.call("POST", "/vms/sbx_served/snapshots", order)).toMatchObject({ status: 200 });
  const fork = await start("sbx_fork", { template, from: { kind: "snapshot", snapshot_id } });
  expect(await sh(fork, served)).toBe(answers);
  await destroy(fork);
  await host.call("POST", "/vms/sbx_served/pause", { execution_id: sandbox.executionId });
  const resumed = await start("sbx_served", { template, from: { kind: "paused" } });
  expect(await sh(resumed, served)).toBe(answers);
  await destroy(resumed);
  await host.call("DELETE", `/snapshots/${snapshot_id}`);

  const fresh = await start("mch_served", { template, machine: { command: null, disk: "new" } });
  await sh(fresh, "echo kept > /srv/kept || true");
  const stop = { execution_id: fresh.executionId, grace_ms: 1_000 };
  expect(await host.call("POST", "/vms/mch_served/stop", stop)).toMatchObject({
    body: { status: "stopped" },
  });
  const booted = await start("mch_served", { template, machine: { command: null, disk: "kept" } });
  expect(await sh(booted, "whoami; pwd; echo $GREETING")).toBe("web\n/srv\nhello\n");
  await destroy(booted);
  await host.call("DELETE", `/templates/${template}`);
});

test("an image without a shell runs, and says what it lacks when a command is asked of it", async () => {
  const build = await startBuild("bld_bare", { on: { kind: "empty" }, disk_gib: 1 });
  await sh(build, "mkfs.ext4 -q /dev/vdb 64M; mount /dev/vdb /mnt; cp /bin/busybox /mnt/app; umount /mnt");
  const template = await putTemplate(await seal(build, "seal_1"));
  await destroy(build);
  expect(await freeze(template)).toMatchObject({ status: 204 });
  const sandbox = await start("sbx_bare", { template });
  await expect(sh(sandbox, "true")).rejects.toThrow("program_missing");
  await destroy(sandbox);
  await host.call("DELETE", `/templates/${template}`);
});

test("what is no root file system is refused when it is frozen, and nothing of it stays", async () => {
  const build = await startBuild("bld_nothing", { on: { kind: "empty" }, disk_gib: 1 });
  await sh(build, "echo no file system > /dev/vdb");
  const template = await putTemplate(await seal(build, "seal_1"));
  expect(await freeze(template)).toMatchObject({ status: 502, body: { code: "guest_failed" } });
  expect(await readdir(join(host.folder, "host/own-frozen"))).toEqual([]);
  await host.call("DELETE", `/templates/${template}`);
  // More than its image may have, past every file system.
  await sh(build, "dd if=/dev/zero of=/dev/vdb bs=1M count=1150 conv=fsync 2>&1");
  const order = { execution_id: build.executionId, seal_id: "seal_2" };
  expect(await host.call("POST", "/vms/bld_nothing/seal", order)).toMatchObject({
    status: 422,
    body: { code: "disk_full" },
  });
  await destroy(build);
  expect(await host.files("bld_nothing")).toEqual([]);
});

test("builds stand on what is there, and their template is for nothing else", async () => {
  const missing: DiskImage = { layers: [{ digest: "0".repeat(64), bytes: 1 }], disk_gib: 1 };
  const on = (origin: VmBuild["on"], disk_gib = 4) =>
    put("bld_refused", { template: "builder", build: { on: origin, disk_gib } });
  const refusals = [
    [await on({ kind: "image", image: missing }), 409, "layer_missing"],
    [await on({ kind: "template", template: "nothing" }), 422, "unknown_template"],
    [await on({ kind: "template", template: "builder" }, 16), 422, "unknown_template"],
    [await on({ kind: "template", template: "base" }, 1), 400, "bad_request"],
    [await put("bld_refused", { template: "base", build: onBase }), 422, "unknown_template"],
    [await put("sbx_refused", { template: "builder" }), 422, "unknown_template"],
    [await put("sbx_refused", { template: newId("template") }), 422, "unknown_template"],
  ] as const;
  for (const [{ status, body }, wanted, code] of refusals)
    expect({ status, code: body.code }).toEqual({ status: wanted, code });
  expect(await host.call("GET", "/vms")).toMatchObject({ body: { items: [] } });
  const { body } = await host.call<HostInfo>("GET", "/info");
  expect(body.templates.map(({ name }) => name)).not.toContain("builder");
});
