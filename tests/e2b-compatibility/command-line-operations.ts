// Commands of E2B's command line.

import { readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { stripVTControlCharacters } from "node:util";
import { e2bSays, runE2b, type CallOptions } from "./command-line.ts";
import { holds, same, type NotTried, type Operation } from "./operation.ts";

export interface CommandLineContext {
  readonly env: Readonly<Record<string, string>>;
  /** Runs, of the template `base`. */
  readonly sandboxId: string;
  /** An empty folder, which is removed afterwards. */
  readonly folder: string;
  readonly prefix: string;
}

export const notTriedOfCommandLine: NotTried = {
  "auth login": "needs E2B's own login in a browser",
  "auth logout": "ends a login of E2B's own",
  "auth configure": "chooses among the projects of a login of E2B's own",
  "template migrate": "rewrites local files, without a call to a server",
  "sandbox connect": "needs a terminal; `Pty` of the SDK is tried",
};

type CommandLineOperation = Operation<CommandLineContext>;

const says = async ({ env }: CommandLineContext, args: string, options?: CallOptions) =>
  stripVTControlCharacters(await e2bSays(env, args.split(" "), options));

async function detached(context: CommandLineContext): Promise<string> {
  return (await says(context, "sandbox create base --detach --timeout 600")).trim();
}

const sandboxCommands: readonly CommandLineOperation[] = [
  {
    ...{ area: "sandbox", name: "`create --detach`, `kill`", covers: ["sandbox create", "sandbox kill"] },
    async attempt(context) {
      const id = await detached(context);
      holds((await says(context, `sandbox kill ${id}`)).includes("has been killed"), "it says so");
    },
  },
  {
    ...{ area: "sandbox", name: "`list`, by state, template and order", covers: ["sandbox list"] },
    async attempt(context) {
      const args = "sandbox list --state running --template base --order asc --limit 0 --format json";
      const ids = (JSON.parse(await says(context, args)) as { sandboxId: string }[]).map(
        (one) => one.sandboxId,
      );
      holds(ids.includes(context.sandboxId), "the sandbox is listed");
      holds(
        (await says(context, "sandbox list --limit 0")).includes(context.sandboxId),
        "it is in the table",
      );
    },
  },
  {
    ...{ area: "sandbox", name: "`info`", covers: ["sandbox info"] },
    async attempt(context) {
      const info = JSON.parse(await says(context, `sandbox info ${context.sandboxId} --format json`));
      same([info.sandboxId, info.state, info.memoryMB], [context.sandboxId, "running", 256]);
    },
  },
  {
    ...{
      area: "sandbox",
      name: "`exec`: output, exit code, user, folder, environment",
      covers: ["sandbox exec"],
    },
    async attempt({ env, sandboxId }) {
      const command = "whoami; pwd; echo $A; echo why >&2; exit 7";
      const how = ["--user", "root", "--cwd", "/tmp", "--env", "A=b"];
      const { stdout, stderr, code } = await runE2b(env, ["sandbox", "exec", ...how, sandboxId, command]);
      same([stdout, stderr, code], ["root\n/tmp\nb\n", "why\nexit status 7\n", 7]);
    },
  },
  {
    ...{ area: "sandbox", name: "`exec` with input from a pipe", covers: [] },
    async attempt({ env, sandboxId }) {
      same(await e2bSays(env, ["sandbox", "exec", sandboxId, "cat"], { input: "piped\n" }), "piped\n");
    },
  },
  {
    ...{ area: "sandbox", name: "`exec --background`", covers: [] },
    async attempt({ env, sandboxId }) {
      const { stderr, code } = await runE2b(env, ["sandbox", "exec", "--background", sandboxId, "sleep 1"]);
      same([code, /^\d+\n$/.test(stderr)], [0, true]);
    },
  },
  {
    ...{ area: "sandbox", name: "`pause`, `resume`", covers: ["sandbox pause", "sandbox resume"] },
    async attempt(context) {
      const id = await detached(context);
      holds((await says(context, `sandbox pause ${id}`)).includes("has been paused"), "it is paused");
      holds((await says(context, `sandbox list --state paused --limit 0`)).includes(id), "it is listed");
      holds((await says(context, `sandbox resume ${id}`)).includes("has been resumed"), "it is resumed");
      await says(context, `sandbox kill ${id}`);
    },
  },
  {
    ...{ area: "sandbox", name: "`metrics`", covers: ["sandbox metrics"] },
    async attempt(context) {
      const printed = await says(context, `sandbox metrics ${context.sandboxId} --format json`);
      const [first = ""] = printed.split("\n").filter((line) => line !== "");
      same((JSON.parse(first) as { cpuCount: number }).cpuCount, 1);
    },
  },
  {
    ...{ area: "sandbox", name: "`logs`", covers: ["sandbox logs"] },
    async attempt(context) {
      const lines = await says(context, `sandbox logs ${context.sandboxId} --format json`);
      holds(lines.includes('"timestamp"'), "it prints lines");
    },
  },
  {
    ...{ area: "sandbox", name: "`snapshot create`, `list`, `delete`" },
    covers: ["sandbox snapshot create", "sandbox snapshot list", "sandbox snapshot delete"],
    async attempt(context) {
      const id = await detached(context);
      const made = await says(context, `sandbox snapshot create ${id} --name ${context.prefix}-of-cli`);
      const listed = await says(context, `sandbox snapshot list ${id} --format json`);
      const [first] = JSON.parse(listed) as { snapshotId: string }[];
      const snapshot = first?.snapshotId ?? "none";
      holds(made.includes(snapshot), "the snapshot is listed");
      const deleted = await says(context, `sandbox snapshot delete ${snapshot}`);
      holds(deleted.includes("has been deleted"), "it is deleted");
      await says(context, `sandbox kill ${id}`);
    },
  },
];

const templateOf = ({ prefix }: CommandLineContext) => `${prefix}-of-cli`;

const templateCommands: readonly CommandLineOperation[] = [
  {
    ...{ area: "template", name: "`init`", covers: ["template init"] },
    async attempt(context) {
      await says(context, `template init --name made --language typescript --path ${context.folder}`);
      holds(
        (await readdir(context.folder, { recursive: true })).some((file) => file.endsWith("template.ts")),
        "it wrote a template",
      );
    },
  },
  {
    ...{ area: "template", name: "`create` of a Dockerfile; `list`" },
    covers: ["template create", "template list"],
    async attempt(context) {
      await writeFile(
        join(context.folder, "e2b.Dockerfile"),
        "FROM e2bdev/base\nRUN echo made > /home/user/made\n",
      );
      const name = templateOf(context);
      await says(context, `template create ${name} --path ${context.folder} --cpu-count 1 --memory-mb 512`);
      const listed = JSON.parse(await says(context, "template list --format json")) as {
        aliases: string[];
      }[];
      holds(
        listed.some(({ aliases }) => aliases.includes(name)),
        "the template is listed",
      );
      holds((await says(context, "template list")).includes(name), "it is in the table");
      const id = (await says(context, `sandbox create ${name} --detach`)).trim();
      same(await e2bSays(context.env, ["sandbox", "exec", id, "cat made"]), "made\n");
      await says(context, `sandbox kill ${id}`);
    },
  },
  ...(["publish", "unpublish"] as const).map((command): CommandLineOperation => ({
    ...{ area: "template", name: `\`${command}\``, covers: [`template ${command}`] },
    async attempt(context) {
      await says(context, `template ${command} ${templateOf(context)} --yes`);
    },
  })),
  {
    ...{ area: "template", name: "`delete`", covers: ["template delete"] },
    async attempt(context) {
      await says(context, `template delete ${templateOf(context)} --yes`);
      holds(!(await says(context, "template list")).includes(templateOf(context)), "it is gone");
    },
  },
];

export const commandLineOperations: readonly CommandLineOperation[] = [
  ...sandboxCommands,
  ...templateCommands,
  {
    ...{ area: "auth", name: "`info`, with a key in the environment", covers: ["auth info"] },
    async attempt(context) {
      same(await says(context, "auth info"), "Not logged in\n");
    },
  },
];
