// Operations of the SDK on processes and terminals.

import { setTimeout as sleep } from "node:timers/promises";
import { until } from "../support/platform.ts";
import { same, throwsA } from "./operation.ts";
import type { SdkContext, SdkOperation } from "./sdk.ts";

const area = "Commands";

const commandOperations: readonly SdkOperation[] = [
  {
    ...{ area, name: "run: output of both kinds, as it comes and as a whole" },
    covers: ["Commands.run"],
    async attempt({ sandbox }) {
      const told: string[] = [];
      const { stdout, stderr, exitCode } = await sandbox.commands.run("echo one; echo two >&2", {
        onStdout: (text) => void told.push(text),
        onStderr: (text) => void told.push(text),
      });
      same([stdout, stderr, exitCode, told.toSorted()], ["one\n", "two\n", 0, ["one\n", "two\n"]]);
    },
  },
  {
    ...{ area, name: "run as a user, in a folder, with an environment" },
    covers: [],
    async attempt({ sandbox }) {
      const plain = await sandbox.commands.run("whoami; pwd; echo $GREETING");
      same(plain.stdout, "user\n/home/user\nhello\n");
      const how = { user: "root", cwd: "/tmp", envs: { GREETING: "hi" } };
      const other = await sandbox.commands.run("whoami; pwd; echo $GREETING", how);
      same(other.stdout, "root\n/tmp\nhi\n");
    },
  },
  {
    ...{ area, name: "an exit code that is not 0: `CommandExitError`" },
    covers: [],
    async attempt({ sdk, sandbox }) {
      const error = await sandbox.commands.run("echo why >&2; exit 7").catch((thrown: unknown) => thrown);
      if (!(error instanceof sdk.CommandExitError)) throw new Error("no CommandExitError");
      same([error.exitCode, error.stderr, error.stdout], [7, "why\n", ""]);
    },
  },
  {
    ...{ area, name: "a time limit: `TimeoutError`" },
    covers: [],
    attempt: ({ sdk, sandbox }) =>
      throwsA(sdk.TimeoutError, () => sandbox.commands.run("sleep 1000", { timeoutMs: 2_000 })),
  },
  {
    ...{ area, name: "run on in the background, and wait" },
    covers: ["CommandHandle.wait"],
    async attempt({ sandbox }) {
      const handle = await sandbox.commands.run("sleep 1; echo done", { background: true });
      const { stdout, exitCode } = await handle.wait();
      same([stdout, exitCode, handle.exitCode], ["done\n", 0, 0]);
    },
  },
  {
    ...{ area, name: "input: send, and close" },
    covers: [
      ...["Commands.sendStdin", "Commands.closeStdin", "CommandHandle.sendStdin", "CommandHandle.closeStdin"],
    ],
    async attempt({ sandbox }) {
      const { commands } = sandbox;
      const handle = await commands.run("cat", { background: true, stdin: true });
      await handle.sendStdin("one\n");
      await commands.sendStdin(handle.pid, new TextEncoder().encode("two\n"));
      await commands.closeStdin(handle.pid);
      same((await handle.wait()).stdout, "one\ntwo\n");
      const other = await commands.run("cat", { background: true, stdin: true });
      await other.closeStdin();
      same((await other.wait()).exitCode, 0);
    },
  },
  {
    ...{ area, name: "list: programs, arguments, folders" },
    covers: ["Commands.list"],
    async attempt(context) {
      const { cmd, args, cwd } = await listedCommand(context);
      same([cmd, args, cwd], ["/bin/bash", ["-l", "-c", "sleep 1000"], "/tmp"]);
    },
  },
  {
    ...{ area, name: "list: environments" },
    covers: [],
    attempt: async (context) => same((await listedCommand(context)).envs, { A: "b" }),
  },
  {
    ...{ area, name: "kill; again: false" },
    covers: ["Commands.kill", "CommandHandle.kill"],
    async attempt({ sdk, sandbox }) {
      const [first, second] = [
        await sandbox.commands.run("sleep 1000", { background: true }),
        await sandbox.commands.run("sleep 1000", { background: true }),
      ];
      same([await first.kill(), await sandbox.commands.kill(second.pid)], [true, true]);
      await throwsA(sdk.CommandExitError, () => first.wait());
      await throwsA(sdk.CommandExitError, () => second.wait());
      same(await sandbox.commands.kill(first.pid), false);
    },
  },
  {
    ...{ area, name: "disconnect, and connect by its number" },
    covers: ["CommandHandle.disconnect", "Commands.connect"],
    async attempt({ sandbox }) {
      const handle = await sandbox.commands.run("read line; echo got $line", {
        background: true,
        stdin: true,
      });
      await handle.disconnect();
      const again = await sandbox.commands.connect(handle.pid);
      await again.sendStdin("it\n");
      same((await again.wait()).stdout, "got it\n");
    },
  },
];

async function listedCommand({ sandbox }: SdkContext) {
  const handle = await sandbox.commands.run("sleep 1000", {
    background: true,
    cwd: "/tmp",
    envs: { A: "b" },
  });
  const one = (await sandbox.commands.list()).find(({ pid }) => pid === handle.pid);
  await handle.kill();
  if (one === undefined) throw new Error("it is not listed");
  return one;
}

const ptyOperations: readonly SdkOperation[] = [
  {
    ...{ area: "Terminals", name: "create, type, change the size" },
    covers: ["Pty.create", "Pty.sendInput", "Pty.resize"],
    async attempt({ sandbox: { pty } }) {
      let shown = "";
      const text = new TextDecoder();
      const terminal = await pty.create({
        ...{ cols: 90, rows: 30, cwd: "/tmp", envs: { A: "b" } },
        onData: (bytes) => void (shown += text.decode(bytes)),
      });
      const type = (line: string) => pty.sendInput(terminal.pid, new TextEncoder().encode(`${line}\n`));
      await type("stty size; echo $PWD-$A");
      await until("the size was shown", async () => shown.includes("30 90"));
      await pty.resize(terminal.pid, { cols: 70, rows: 20 });
      await type("stty size; exit 3");
      await terminal.wait().catch(() => undefined);
      same([shown.includes("/tmp-b"), shown.includes("20 70"), terminal.exitCode], [true, true, 3]);
    },
  },
  {
    ...{ area: "Terminals", name: "connect by its number; kill" },
    covers: ["Pty.connect", "Pty.kill"],
    async attempt({ sandbox: { pty } }) {
      const terminal = await pty.create({ cols: 80, rows: 24, onData: () => undefined });
      await terminal.disconnect();
      let shown = "";
      const again = await pty.connect(terminal.pid, {
        onData: (bytes) => void (shown += new TextDecoder().decode(bytes)),
      });
      await pty.sendInput(terminal.pid, new TextEncoder().encode("echo $((40 + 2))-shown\n"));
      await until("what was typed was shown", async () => shown.includes("42-shown"));
      same(await pty.kill(terminal.pid), true);
      await again.wait().catch(() => undefined);
      await sleep(0);
      same(await pty.kill(terminal.pid), false);
    },
  },
];

export const processOperations: readonly SdkOperation[] = [...commandOperations, ...ptyOperations];
