// Operations of the SDK on templates. One build has most instructions, and each of their rows asks a sandbox of it.

import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { holds, same, throwsA } from "./operation.ts";
import type { Sandbox, SdkContext, SdkOperation } from "./sdk.ts";

const area = "Templates";

/** Builds the template that has most instructions, and makes a sandbox of it. */
export async function builtSandbox(context: Omit<SdkContext, "built">): Promise<Sandbox> {
  const { sdk, options } = context;
  const name = wholeOf(context);
  await inFolder(async (folder) => {
    const template = sdk
      .Template({ fileContextPath: folder, fileIgnorePatterns: ["**/ignored"] })
      .fromBaseImage()
      .setEnvs({ GREETING: "hello" })
      .setWorkdir("/srv/site")
      .copy("site", "/srv/site")
      .copy("site/index.html", "copy.html", { mode: 0o600, user: "root" })
      .copyItems([
        { src: "site/index.html", dest: "/srv/items/one.html" },
        { src: ["site/index.html", "site/other.html"], dest: "/srv/items/more/" },
      ])
      .runCmd(["touch removed renamed", 'whoami > who; echo "$GREETING" >> who; pwd >> who'])
      .remove("removed")
      .rename("renamed", "moved")
      .makeDir("made", { mode: 0o700 })
      .makeSymlink("moved", "link")
      .runCmd(
        "git init -q /tmp/origin && git -C /tmp/origin -c user.name=A -c user.email=a@b commit -q --allow-empty -m one",
      )
      .gitClone("/tmp/origin", "/srv/site/clone")
      .setUser("root")
      .runCmd("whoami > /root/who")
      .setUser("user")
      .setStartCmd("touch /tmp/started; python3 -m http.server 8000", allReady(sdk));
    await sdk.Template.build(template, name, options);
  });
  return sdk.Sandbox.create(name, { ...options, timeoutMs: 1_800_000 });
}

const wholeOf = ({ prefix }: Pick<SdkContext, "prefix">) => `${prefix}-whole`;

/** Each of the conditions that the SDK writes, one after another. */
const allReady = (sdk: SdkContext["sdk"]) =>
  [
    sdk.waitForPort(8000),
    sdk.waitForURL("http://localhost:8000/"),
    sdk.waitForProcess("python3"),
    sdk.waitForFile("/tmp/started"),
    sdk.waitForTimeout(1_000),
  ]
    .map((ready) => ready.getCmd())
    .join(" && ");

async function inFolder(use: (folder: string) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "skerry-e2b-"));
  try {
    await mkdir(join(folder, "site/below"), { recursive: true });
    for (const name of ["index.html", "other.html", "below/deep", "ignored"])
      await writeFile(join(folder, "site", name), `text of ${name}`);
    await use(folder);
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** A row for an instruction of that build: a command in the sandbox, and what it prints. */
function instruction(name: string, covers: readonly string[], command: string, output: string): SdkOperation {
  return {
    ...{ area, name, covers: covers.map((method) => `TemplateBase.${method}`) },
    async attempt({ built }) {
      const { stdout } = await (await built()).commands.run(command, { cwd: "/srv/site" });
      same(stdout, output);
    },
  };
}

const askSite = `python3 -c "import urllib.request; print(urllib.request.urlopen('http://127.0.0.1:8000/index.html').status)"`;

export const templateOperations: readonly SdkOperation[] = [
  {
    ...{ area, name: "build, of files and commands" },
    covers: ["static TemplateBase.build", "TemplateBase.fromBaseImage"],
    async attempt({ built }) {
      await built();
    },
  },
  instruction("`copy`: directories, modes, owners, what is ignored", ["copy"], ...copied()),
  instruction("`copyItems`", ["copyItems"], "cd /srv/items; find . -type f | sort", items()),
  instruction("`runCmd`, `setEnvs`, `setWorkdir`", ["runCmd", "setEnvs", "setWorkdir"], "cat who", whoAmI()),
  instruction("`setUser`", ["setUser"], "sudo cat /root/who; whoami", "root\nuser\n"),
  instruction(
    "`remove`, `rename`",
    ["remove", "rename"],
    "ls removed renamed moved 2>/dev/null || true",
    "moved\n",
  ),
  instruction(
    ...(["`makeDir`, `makeSymlink`", ["makeDir", "makeSymlink"]] as const),
    ...(["stat -c %a made; readlink link", "700\nmoved\n"] as const),
  ),
  instruction("`gitClone`", ["gitClone"], "git -C clone log --format=%s", "one\n"),
  {
    ...instruction("`setStartCmd`, once it is ready", ["setStartCmd"], askSite, "200\n"),
    covers: [
      ...[
        "TemplateBase.setStartCmd",
        "waitForPort",
        "waitForURL",
        "waitForProcess",
        "waitForFile",
        "waitForTimeout",
      ],
    ],
  },
  {
    ...{ area, name: "build in the background from a template, without the cache; its status and logs" },
    covers: [
      ...["static TemplateBase.buildInBackground", "static TemplateBase.getBuildStatus"],
      ...[
        "TemplateBase.fromTemplate",
        "TemplateBase.setReadyCmd",
        "TemplateBase.skipCache",
        "defaultBuildLogger",
      ],
    ],
    attempt: (context) => inBackground(context),
  },
  {
    ...{ area, name: "build of a Dockerfile" },
    covers: ["TemplateBase.fromDockerfile", "static TemplateBase.toDockerfile", "static TemplateBase.toJSON"],
    async attempt({ sdk, options, prefix }) {
      const dockerfile = "FROM e2bdev/base\nENV GREETING=hi\nRUN echo $GREETING > /home/user/made\n";
      const template = sdk.Template().fromDockerfile(dockerfile);
      holds((await sdk.Template.toJSON(template)).includes("/home/user/made"), "its JSON has the command");
      holds(
        sdk.Template.toDockerfile(template).includes("/home/user/made"),
        "its Dockerfile has the command",
      );
      await sdk.Template.build(template, `${prefix}-dockerfile`, options);
      const made = await sdk.Sandbox.create(`${prefix}-dockerfile`, { ...options, timeoutMs: 600_000 });
      const text = await made.files.read("made");
      await made.kill();
      same(text, "hi\n");
    },
  },
  {
    ...{ area, name: "a build that fails: `BuildError`, with what the command said" },
    covers: [],
    async attempt({ sdk, options, prefix }) {
      const broken = sdk.Template().fromBaseImage().runCmd("echo why >&2; exit 3");
      await throwsA(sdk.BuildError, () => sdk.Template.build(broken, `${prefix}-broken`, options));
    },
  },
  {
    ...{ area, name: "exists" },
    covers: ["static TemplateBase.exists", "static TemplateBase.aliasExists"],
    async attempt(context) {
      const { Template } = context.sdk;
      await context.built();
      const name = wholeOf(context);
      same(
        [await Template.exists(name, context.options), await Template.aliasExists(name, context.options)],
        [true, true],
      );
      same(await Template.exists(`${name}-none`, context.options), false);
    },
  },
  {
    ...{ area, name: "tags: assign, list, remove" },
    covers: [
      "static TemplateBase.assignTags",
      "static TemplateBase.getTags",
      "static TemplateBase.removeTags",
    ],
    attempt: (context) => tagged(context),
  },
  {
    ...{ area, name: "build from an image with a login" },
    covers: ["TemplateBase.fromImage"],
    async attempt({ sdk, options, prefix }) {
      const login = { username: "ada", password: "none" };
      const template = sdk.Template().fromImage("registry.example.com/image", login);
      await sdk.Template.build(template, `${prefix}-login`, options);
    },
  },
  {
    ...{ area, name: "build from a registry of AWS" },
    covers: ["TemplateBase.fromAWSRegistry"],
    async attempt({ sdk, options, prefix }) {
      const login = { accessKeyId: "a", secretAccessKey: "b", region: "eu-west-1" };
      const template = sdk.Template().fromAWSRegistry("1.dkr.ecr.eu-west-1.amazonaws.com/image", login);
      await sdk.Template.build(template, `${prefix}-aws`, options);
    },
  },
  {
    ...{ area, name: "build from a registry of Google" },
    covers: ["TemplateBase.fromGCPRegistry"],
    async attempt({ sdk, options, prefix }) {
      const template = sdk.Template().fromGCPRegistry("gcr.io/one/image", { serviceAccountJSON: {} });
      await sdk.Template.build(template, `${prefix}-gcp`, options);
    },
  },
];

function copied(): readonly [command: string, output: string] {
  return [
    "stat -c '%U %a %n' index.html copy.html; cat below/deep; ls ignored 2>/dev/null || true",
    "user 644 index.html\nroot 600 copy.html\ntext of below/deep",
  ];
}

function items(): string {
  return "./more/index.html\n./more/other.html\n./one.html\n";
}

function whoAmI(): string {
  return "user\nhello\n/srv/site\n";
}

async function inBackground(context: SdkContext): Promise<void> {
  const { sdk, options, prefix } = context;
  await context.built();
  const template = sdk
    .Template()
    .skipCache()
    .fromTemplate(wholeOf(context))
    .runCmd("echo from above > above")
    .setReadyCmd(sdk.waitForFile("/srv/site/above"));
  const logger = sdk.defaultBuildLogger({ minLevel: "error" });
  const onBuildLogs = (entry: Parameters<typeof logger>[0]) =>
    void (entry.level === "error" && logger(entry));
  const build = await sdk.Template.buildInBackground(template, `${prefix}-above`, {
    ...options,
    onBuildLogs,
  });
  const lines: string[] = [];
  for (;;) {
    const status = await sdk.Template.getBuildStatus(build, { ...options, logsOffset: lines.length });
    lines.push(...status.logEntries.map(({ message }) => message));
    if (status.status === "error") throw new Error(status.reason?.message ?? "the build failed");
    if (status.status === "ready") break;
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
  holds(
    lines.some((line) => line.includes("above")),
    "its logs have the command",
  );
  const made = await sdk.Sandbox.create(`${prefix}-above`, { ...options, timeoutMs: 600_000 });
  const text = await made.files.read("/srv/site/above");
  await made.kill();
  same(text, "from above\n");
}

async function tagged(context: SdkContext): Promise<void> {
  const { sdk, options } = context;
  await context.built();
  const name = wholeOf(context);
  const { tags } = await sdk.Template.assignTags(`${name}:default`, ["stable", "v1"], options);
  same(tags.toSorted(), ["stable", "v1"]);
  const names = async () => (await sdk.Template.getTags(name, options)).map(({ tag }) => tag).toSorted();
  same(await names(), ["default", "latest", "stable", "v1"]);
  const made = await sdk.Sandbox.create(`${name}:stable`, { ...options, timeoutMs: 600_000 });
  await made.kill();
  await sdk.Template.removeTags(name, "v1", options);
  same(await names(), ["default", "latest", "stable"]);
}
