// Plans carried out in a real builder: what detection and the builder's scripts promise of apps, Dockerfiles and images.

import { afterAll, beforeAll, expect, inject, test, vi } from "vitest";
import { GIT_COMMIT_FILE, GIT_FILES_FILE } from "@skerry/build-plan/scripts/builder-scripts";
import { SECRETS_FOLDER } from "@skerry/build-plan/scripts/image-scripts";
import { IMAGE_CONFIG_FILE } from "@skerry/build-plan/scripts/registry-files";
import { detectApp } from "@skerry/build-plan/detect/detect-app";
import { imageConfig } from "@skerry/build-plan/plan/image-config";
import { planBuild } from "@skerry/build-plan/plan/plan-build";
import type { TemplateImage, VmBuild } from "@skerry/contract/host-api/templates";
import { newId } from "@skerry/contract/ids";
import { apps, type App } from "../packages/build-plan/tests/support/apps.ts";
import { LoneHost } from "./support/lone-host.ts";
import { LoneVms } from "./support/lone-vms.ts";
import { fullTest } from "./support/full-test.ts";
import { isFullRun } from "./support/sampling.ts";
import { nothingWaits } from "./support/platform.ts";

const MINUTE_MS = 60_000;

// Against hanging: a Dockerfile is built within minutes where the CPU is emulated, and later beside other builds.
vi.setConfig({ testTimeout: 25 * MINUTE_MS });

let host: LoneHost;
let vms: LoneVms;

async function makeTemplate(template: TemplateImage): Promise<string> {
  const id = newId("template");
  expect(await host.call("PUT", `/templates/${id}`, template)).toEqual({
    status: 200,
    body: { missing: [] },
  });
  const frozen = await host.call("POST", `/templates/${id}/freeze`, { size: "shared-cpu-1x" });
  expect(frozen, JSON.stringify(frozen)).toMatchObject({ status: 204 });
  return id;
}

beforeAll(async () => {
  host = await LoneHost.open(inject("assets"), nothingWaits);
  vms = new LoneVms(host);
  const build: VmBuild = { on: { kind: "empty" }, disk_gib: 1 };
  await vms.destroy(await vms.startOnceReady("bld_first", { template: "builder", build }));
}, 20 * MINUTE_MS);
afterAll(() => host.close());

/** On `base` alone, unless all are tried: the images of the others take minutes to build, once on a machine. */
const built = Object.entries<App>(apps).filter(
  ([, { files, answers }]) => answers !== undefined && (isFullRun || "index.html" in files),
);

test.each(built)(
  "an app is built, and answers in a sandbox that wakes with it running: %s",
  async (_, { files, answers = {} }) => {
    const plan = planBuild(detectApp({ files: Object.keys(files), texts: files }).request);
    const on = plan.on?.template ?? "";
    // A host builds its own images in the background, and a build that stands on one waits for it.
    await vms.destroy(await vms.startOnceReady("sbx_first", { template: on }));
    const target: VmBuild = { on: { kind: "template", template: on }, disk_gib: on === "base" ? 4 : 8 };
    const build = await vms.startBuild("bld_app", target);
    await vms.sendContext(build, files);
    await vms.carryOut(build, plan.steps);
    const image = await vms.seal(build);
    await vms.destroy(build);
    const { env, user, workdir, start: begin } = plan.config;
    const template = await makeTemplate({
      ...{ image, env, user, workdir },
      start: {
        command: begin?.command ?? "",
        ready: { kind: "port", port: begin?.ready?.port ?? 0 },
        // Against hanging: beside other builds npm alone may take minutes.
        timeout_ms: 10 * MINUTE_MS,
      },
    });
    const sandbox = await vms.start("sbx_app", { template });
    for (const [path, text] of Object.entries(answers))
      expect(await vms.sh(sandbox, `curl -s http://127.0.0.1:8080${path}`)).toContain(text);
    if (".env" in files) {
      const ask = "curl -s -o /dev/null -w '%{http_code}' http://127.0.0.1:8080/.env";
      expect(await vms.sh(sandbox, ask)).toBe("404");
    }
    await vms.destroy(sandbox);
    await host.call("DELETE", `/templates/${template}`);
  },
);

const DOCKERFILE = `ARG GREETING=none
FROM scratch AS first
ENV A=of-the-stage
COPY busybox /bin/busybox
RUN ["/bin/busybox", "--install", "-s", "/bin"]
RUN --mount=type=cache,target=/kept echo cached >/kept/file
RUN --mount=type=cache,target=/kept --mount=type=secret,id=token,target=/token mkdir /read && cat /kept/file /token >/read/both
COPY --link folder /folder
WORKDIR /read
RUN --mount=type=bind,source=folder,target=seen <<EOF
set -eu
cp seen/wanted /read/wanted
EOF
RUN --mount=type=secret,id=token,env=TOKEN printf "%s" "$TOKEN" >/read/variable
RUN <<EOF
#!/bin/busybox ash
echo "program $0" >/read/program
EOF
COPY --chmod=604 <<first <<"second" /documents/
one $A-$GREETING
first
two $A
second
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
  const plan = planBuild({ dockerfile: { text: DOCKERFILE, args: { GREETING: "it's" } } });
  const build = await vms.startBuild("bld_docker", { on: { kind: "empty" }, disk_gib: 8 });
  await vms.sendContext(build, {
    ...{ "folder/wanted": "", "folder/unwanted": "" },
    ...{ ".dockerignore": "folder/unwanted", others: "folder/wanted" },
  });
  await vms.sh(build, "cd /context && ln -s others .containerignore && cp /bin/busybox busybox");
  await vms.sh(build, `mkdir -p ${SECRETS_FOLDER} && echo s3cret >${SECRETS_FOLDER}/token`);
  await vms.carryOut(build, plan.steps);
  expect(await vms.sh(build, `ls ${SECRETS_FOLDER} 2>&1 || true`)).toContain("No such file");
  const config = imageConfig(await vms.sh(build, `cat ${IMAGE_CONFIG_FILE}`));
  expect(config).toEqual({
    env: { PATH: expect.any(String) as string, A: "b c" },
    user: "65534:12",
    workdir: "/srv",
    command: "/bin/httpd -f",
  });
  const image = await vms.seal(build);
  await vms.destroy(build);
  const { env, user, workdir } = config;
  const sandbox = await vms.start("sbx_docker", {
    template: await makeTemplate({ image, env, user, workdir }),
  });
  expect(
    await vms.sh(
      sandbox,
      "cat greeting; id -u; ls -ln greeting | awk '{print $3 $4}'; echo $A; ls /gone 2>&1 || true",
    ),
  ).toMatch(/^it's\n65534\n6553412\nb c\nls: \/gone: No such file/);
  expect(
    await vms.sh(sandbox, "ls -l /bin/same | cut -c1-10; [ /bin/same -ef /bin/busybox ] && echo one"),
  ).toBe("-rws--x--x\none\n");
  // A link is no list of what is left out: the digests by which the cache knows a context follow none either.
  expect(await vms.sh(sandbox, "ls /folder")).toBe("wanted\n");
  // A cache is kept from step to step of a build, and neither what is in it nor a secret is in the image.
  expect(await vms.sh(sandbox, "cat /read/both; cat /kept/file /token 2>/dev/null || true")).toBe(
    "cached\ns3cret\n",
  );
  expect(
    await vms.sh(sandbox, "cd /read && cat variable program && ls wanted && ls -a / | grep skerry || true"),
  ).toBe("s3cret\nprogram /.skerry-documents/EOF\nwanted\n");
  expect(await vms.sh(sandbox, "cd /documents && cat first second && ls -l first | cut -c1-10")).toBe(
    "one of-the-stage-\ntwo $A\n-rw----r--\n",
  );
  await vms.destroy(sandbox);
});

fullTest("FROM a template's name in a Dockerfile is that template", async () => {
  const plan = planBuild(
    { from: "base", dockerfile: {} },
    { env: { A: "of base" }, user: null, workdir: null },
  );
  const build = await vms.startBuild("bld_from", {
    on: { kind: "template", template: "base" },
    disk_gib: 4,
  });
  await vms.sendContext(build, {
    Dockerfile: "FROM base\nRUN python3 -c 'print(6 * 7)' >/srv/answer && rm -r /usr/share/doc\nENV B=2\n",
  });
  await vms.carryOut(build, plan.steps);
  const { env, user, workdir } = imageConfig(await vms.sh(build, `cat ${IMAGE_CONFIG_FILE}`));
  expect(env).toMatchObject({ A: "of base", B: "2" });
  const image = await vms.seal(build);
  await vms.destroy(build);
  const sandbox = await vms.start("sbx_from", {
    template: await makeTemplate({ image, env, user, workdir }),
  });
  expect(
    await vms.sh(sandbox, "cat /srv/answer; ls -d /usr/share/doc || python3 -c 'print(1)'; stat -c %a /tmp"),
  ).toBe("42\n1\n1777\n");
  await vms.destroy(sandbox);
});

test("a repository is cloned in the builder, and its files are the context", async () => {
  const build = await vms.startBuild("bld_git", { on: { kind: "template", template: "base" }, disk_gib: 4 });
  const server = [
    "export HOME=/root; git init -q -b main /srv/source && cd /srv/source && mkdir web && echo of the repository >web/note",
    "git add . && git -c user.name=a -c user.email=a@b commit -q -m one && git rev-parse HEAD",
    "git clone -q --bare . /srv/served.git && touch /srv/served.git/git-daemon-export-ok",
    "setsid git daemon --detach --listen=127.0.0.1 --base-path=/srv /srv >/dev/null 2>&1 </dev/null",
    "for n in $(seq 100); do git ls-remote -q git://127.0.0.1/served.git >/dev/null 2>&1 && break; sleep 0.1; done",
  ];
  const commit = (await vms.sh(build, server.join("\n"))).trim();
  const plan = planBuild({
    git: "git://127.0.0.1/served.git#main:web",
    steps: [{ copy: { from: ".", to: "/srv/" } }],
  });
  await vms.carryOut(build, plan.steps);
  expect(
    await vms.sh(build, `cat ${GIT_COMMIT_FILE}; tr '\\0' '\\n' <${GIT_FILES_FILE}; ls -a /context`),
  ).toBe(`${commit}\nnote\n.\n..\nnote\n`);
  expect(await vms.sh(build, "mount /dev/vdb /mnt && cat /mnt/srv/note && umount /mnt")).toBe(
    "of the repository\n",
  );
  await vms.destroy(build);
});

test("a snapshot's disk becomes an image, on which steps run and which boots when it is frozen", async () => {
  const made = await vms.start("sbx_kept", { template: "base" });
  await vms.sh(
    made,
    "echo kept >/srv/kept && rm -r /usr/share/doc && sync; (while true; do sleep 1; done) >/dev/null 2>&1 &",
  );
  const snapshot_id = newId("snapshot");
  const order = { execution_id: made.executionId, snapshot_id };
  expect(await host.call("POST", "/vms/sbx_kept/snapshots", order)).toMatchObject({ status: 200 });
  await vms.destroy(made);
  const build = await vms.startBuild("bld_snapshot", { on: { kind: "snapshot", snapshot_id }, disk_gib: 4 });
  expect(await host.call("DELETE", `/snapshots/${snapshot_id}`)).toMatchObject({ status: 204 });
  await vms.carryOut(build, planBuild({ steps: [{ run: "cat /srv/kept >/srv/again" }] }).steps);
  const image = await vms.seal(build);
  expect(image.layers).toHaveLength(4);
  await vms.destroy(build);
  const template = await makeTemplate({ image, env: {}, user: null, workdir: null });
  const again = await vms.start("sbx_again", { template });
  expect(await vms.sh(again, "cat /srv/kept /srv/again && test ! -e /usr/share/doc && echo gone")).toBe(
    "kept\nkept\ngone\n",
  );
  await vms.destroy(again);
});
