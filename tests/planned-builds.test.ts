// Plans carried out in a real builder: what detection and the builder's scripts promise of apps, Dockerfiles and images.

import { afterAll, beforeAll, expect, inject, test } from "vitest";
import type { PlannedStep } from "@skerry/contract/builds/plan/build-plan";
import { GIT_COMMIT_FILE, GIT_FILES_FILE } from "@skerry/contract/builds/plan/builder-scripts";
import { SECRETS_FOLDER } from "@skerry/contract/builds/plan/image-scripts";
import { IMAGE_CONFIG_FILE } from "@skerry/contract/builds/plan/registry-files";
import { detectApp } from "@skerry/contract/builds/plan/detect-app";
import { imageConfig } from "@skerry/contract/builds/plan/image-config";
import { planBuild } from "@skerry/contract/builds/plan/plan-build";
import type { ErrorBody } from "@skerry/contract/errors";
import { FrameParser, frameTypes, parseJsonPayload } from "@skerry/contract/frames";
import type { DiskImage, Sealed, TemplateImage, VmBuild } from "@skerry/contract/host-api/templates";
import type { Vm, VmSpec } from "@skerry/contract/host-api/vm";
import { newId } from "@skerry/contract/ids";
import { apps, type App } from "../packages/contract/tests/support/apps.ts";
import { LoneHost } from "./support/lone-host.ts";
import { until } from "./support/platform.ts";

const MINUTE_MS = 60_000;
const isFull = process.env["SKERRY_TEST_FULL"] === "1";

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

const startBuild = (id: string, build: VmBuild): Promise<Started> =>
  start(id, { template: "builder", build });
const sh = ({ id, executionId }: Started, command: string) => host.execute(id, executionId, command);
const destroy = ({ id, executionId }: Started) =>
  host.call("DELETE", `/vms/${id}?execution_id=${executionId}`);

interface Ended {
  readonly code: number;
  readonly output: string;
}

/** Both of its outputs, in one. */
async function run(vm: Started, { command, env }: Pick<PlannedStep, "command" | "env">): Promise<Ended> {
  const { body } = await host.call<Buffer>("POST", `/vms/${vm.id}/execute`, {
    ...{ execution_id: vm.executionId, command, workdir: null, env, timeout_ms: 280_000, output_limit: 0 },
  });
  const frames = [...new FrameParser().push(body)];
  const end = frames.at(-1);
  if (end?.type !== frameTypes.close) throw new Error(body.toString("latin1"));
  const output = frames.slice(0, -1).map(({ payload }) => payload.toString());
  return { code: Number(parseJsonPayload(end.payload)["exit_code"]), output: output.join("") };
}

async function carryOut(vm: Started, steps: readonly PlannedStep[]): Promise<void> {
  for (const step of steps) {
    expect({ step: step.name, ...(await run(vm, step)) }).toMatchObject({ code: 0 });
  }
}

async function upload(vm: Started, files: Readonly<Record<string, string>>): Promise<void> {
  for (const [name, text] of Object.entries(files)) {
    const path = `/context/${name}`;
    const bytes = Buffer.from(text).toString("base64");
    await sh(vm, `mkdir -p "$(dirname ${path})" && echo ${bytes} | base64 -d >${path}`);
  }
}

async function seal({ id, executionId }: Started): Promise<DiskImage> {
  const { status, body } = await host.call<Sealed & ErrorBody>("POST", `/vms/${id}/seal`, {
    execution_id: executionId,
    seal_id: "last",
  });
  expect({ status, body }).toMatchObject({ status: 200 });
  return body.image;
}

async function makeTemplate(template: TemplateImage): Promise<string> {
  const id = newId("template");
  expect(await host.call("PUT", `/templates/${id}`, template)).toEqual({
    status: 200,
    body: { missing: [] },
  });
  expect(await host.call("POST", `/templates/${id}/freeze`, { size: "shared-cpu-1x" })).toMatchObject({
    status: 204,
  });
  return id;
}

/** Starts the VM as soon as the host has built the image of its template. */
async function startOnceReady(
  id: string,
  spec: Pick<VmSpec, "template"> & Partial<VmSpec>,
): Promise<Started> {
  let executionId = "";
  await until(
    `the template of ${id} is ready`,
    async () => {
      const { status, body } = await put(id, spec);
      executionId = body.execution_id;
      if (status !== 200) expect(body.code).toBe("template_not_ready");
      return status === 200;
    },
    20 * MINUTE_MS,
  );
  return { id, executionId };
}

beforeAll(async () => {
  host = await LoneHost.open(inject("assets"), { SKERRY_WARM_MAX: "0" });
  const build: VmBuild = { on: { kind: "empty" }, disk_gib: 1 };
  await destroy(await startOnceReady("bld_first", { template: "builder", build }));
}, 10 * MINUTE_MS);
afterAll(() => host.close());

/** On `base` alone, unless all are tried: the images of the others take minutes to build, once on a machine. */
const built = Object.entries<App>(apps).filter(
  ([, { files, answers }]) => answers !== undefined && (isFull || "index.html" in files),
);

test.each(built)(
  "an app is built, and answers in a sandbox that wakes with it running: %s",
  async (_, { files, answers = {} }) => {
    const plan = planBuild(detectApp({ files: Object.keys(files), texts: files }).request);
    const on = plan.on?.template ?? "";
    // A host builds its own images in the background, and a build that stands on one waits for it.
    await destroy(await startOnceReady("sbx_first", { template: on }));
    const target: VmBuild = { on: { kind: "template", template: on }, disk_gib: on === "base" ? 4 : 8 };
    const build = await startBuild("bld_app", target);
    await upload(build, files);
    await carryOut(build, plan.steps);
    const image = await seal(build);
    await destroy(build);
    const { env, user, workdir, start: begin } = plan.config;
    const template = await makeTemplate({
      ...{ image, env, user, workdir },
      start: {
        command: begin?.command ?? "",
        ready: { kind: "port", port: begin?.ready?.port ?? 0 },
        timeout_ms: 120_000,
      },
    });
    const sandbox = await start("sbx_app", { template });
    for (const [path, text] of Object.entries(answers))
      expect(await sh(sandbox, `curl -s http://127.0.0.1:8080${path}`)).toContain(text);
    if (".env" in files) {
      const ask = "curl -s -o /dev/null -w '%{http_code}' http://127.0.0.1:8080/.env";
      expect(await sh(sandbox, ask)).toBe("404");
    }
    await destroy(sandbox);
    await host.call("DELETE", `/templates/${template}`);
  },
  25 * MINUTE_MS,
);

const DOCKERFILE = `ARG GREETING=none
FROM scratch AS first
COPY busybox /bin/busybox
RUN ["/bin/busybox", "--install", "-s", "/bin"]
RUN --mount=type=cache,target=/kept echo cached >/kept/file
RUN --mount=type=cache,target=/kept --mount=type=secret,id=token,target=/token mkdir /read && cat /kept/file /token >/read/both
RUN mkdir -p /gone /srv /tmp && echo one >/gone/file && ln /bin/busybox /bin/same && chmod 4711 /bin/same
FROM first
ARG GREETING
RUN rm -r /gone && echo "$GREETING" >/srv/greeting && chown 65534:12 /srv/greeting
ENV A="b c"
USER 65534:12
WORKDIR /srv
CMD ["/bin/httpd", "-f"]
`;

test("a Dockerfile's image becomes a template, with owners, links and configuration, and without what was deleted", async () => {
  const plan = planBuild({ dockerfile: { args: { GREETING: "it's" } } });
  const build = await startBuild("bld_docker", { on: { kind: "empty" }, disk_gib: 8 });
  await upload(build, { Dockerfile: DOCKERFILE });
  await sh(build, "cp /bin/busybox /context/busybox");
  await sh(build, `mkdir -p ${SECRETS_FOLDER} && echo s3cret >${SECRETS_FOLDER}/token`);
  await carryOut(build, plan.steps);
  expect(await sh(build, `ls ${SECRETS_FOLDER} 2>&1 || true`)).toContain("No such file");
  const config = imageConfig(await sh(build, `cat ${IMAGE_CONFIG_FILE}`));
  expect(config).toEqual({
    env: { PATH: expect.any(String) as string, A: "b c" },
    user: "65534:12",
    workdir: "/srv",
    command: "'/bin/httpd' '-f'",
  });
  const image = await seal(build);
  await destroy(build);
  const { env, user, workdir } = config;
  const sandbox = await start("sbx_docker", { template: await makeTemplate({ image, env, user, workdir }) });
  expect(
    await sh(
      sandbox,
      "cat greeting; id -u; ls -ln greeting | awk '{print $3 $4}'; echo $A; ls /gone 2>&1 || true",
    ),
  ).toMatch(/^it's\n65534\n6553412\nb c\nls: \/gone: No such file/);
  expect(await sh(sandbox, "ls -l /bin/same | cut -c1-10; [ /bin/same -ef /bin/busybox ] && echo one")).toBe(
    "-rws--x--x\none\n",
  );
  // A cache is kept from step to step of a build, and neither what is in it nor a secret is in the image.
  expect(await sh(sandbox, "cat /read/both; cat /kept/file /token 2>/dev/null || true")).toBe(
    "cached\ns3cret\n",
  );
  await destroy(sandbox);
});

const whole = isFull ? test : undefined;
whole?.("FROM a template's name in a Dockerfile is that template", async () => {
  const plan = planBuild(
    { from: "base", dockerfile: {} },
    { env: { A: "of base" }, user: null, workdir: null },
  );
  const build = await startBuild("bld_from", { on: { kind: "template", template: "base" }, disk_gib: 4 });
  await upload(build, {
    Dockerfile: "FROM base\nRUN python3 -c 'print(6 * 7)' >/srv/answer && rm -r /usr/share/doc\nENV B=2\n",
  });
  await carryOut(build, plan.steps);
  const { env, user, workdir } = imageConfig(await sh(build, `cat ${IMAGE_CONFIG_FILE}`));
  expect(env).toMatchObject({ A: "of base", B: "2" });
  const image = await seal(build);
  await destroy(build);
  const sandbox = await start("sbx_from", { template: await makeTemplate({ image, env, user, workdir }) });
  expect(
    await sh(sandbox, "cat /srv/answer; ls -d /usr/share/doc || python3 -c 'print(1)'; stat -c %a /tmp"),
  ).toBe("42\n1\n1777\n");
  await destroy(sandbox);
});

test("a repository is cloned in the builder, and its files are the context", async () => {
  const build = await startBuild("bld_git", { on: { kind: "template", template: "base" }, disk_gib: 4 });
  const server = [
    "export HOME=/root; git init -q -b main /srv/source && cd /srv/source && mkdir web && echo of the repository >web/note",
    "git add . && git -c user.name=a -c user.email=a@b commit -q -m one && git rev-parse HEAD",
    "git clone -q --bare . /srv/served.git && touch /srv/served.git/git-daemon-export-ok",
    "setsid git daemon --detach --listen=127.0.0.1 --base-path=/srv /srv >/dev/null 2>&1 </dev/null",
    "for n in $(seq 100); do git ls-remote -q git://127.0.0.1/served.git >/dev/null 2>&1 && break; sleep 0.1; done",
  ];
  const commit = (await sh(build, server.join("\n"))).trim();
  const plan = planBuild({
    git: "git://127.0.0.1/served.git#main:web",
    steps: [{ copy: { from: ".", to: "/srv/" } }],
  });
  await carryOut(build, plan.steps);
  expect(await sh(build, `cat ${GIT_COMMIT_FILE}; tr '\\0' '\\n' <${GIT_FILES_FILE}; ls -a /context`)).toBe(
    `${commit}\nnote\n.\n..\nnote\n`,
  );
  expect(await sh(build, "mount /dev/vdb /mnt && cat /mnt/srv/note && umount /mnt")).toBe(
    "of the repository\n",
  );
  await destroy(build);
});

test("a snapshot's disk becomes an image, on which steps run and which boots when it is frozen", async () => {
  const made = await start("sbx_kept", { template: "base" });
  await sh(
    made,
    "echo kept >/srv/kept && rm -r /usr/share/doc && sync; (while true; do sleep 1; done) >/dev/null 2>&1 &",
  );
  const snapshot_id = newId("snapshot");
  const order = { execution_id: made.executionId, snapshot_id };
  expect(await host.call("POST", "/vms/sbx_kept/snapshots", order)).toMatchObject({ status: 200 });
  await destroy(made);
  const build = await startBuild("bld_snapshot", { on: { kind: "snapshot", snapshot_id }, disk_gib: 4 });
  expect(await host.call("DELETE", `/snapshots/${snapshot_id}`)).toMatchObject({ status: 204 });
  await carryOut(build, planBuild({ steps: [{ run: "cat /srv/kept >/srv/again" }] }).steps);
  const image = await seal(build);
  expect(image.layers).toHaveLength(4);
  await destroy(build);
  const template = await makeTemplate({ image, env: {}, user: null, workdir: null });
  const again = await start("sbx_again", { template });
  expect(await sh(again, "cat /srv/kept /srv/again && test ! -e /usr/share/doc && echo gone")).toBe(
    "kept\nkept\ngone\n",
  );
  await destroy(again);
});
