// Operations of the SDK on sandboxes as a whole.

import { holds, NotInVersion, same, throwsA } from "./operation.ts";
import { withSandbox, type SdkContext, type SdkOperation } from "./sdk.ts";

const area = "Sandboxes";

export const sandboxOperations: readonly SdkOperation[] = [
  {
    ...{ area, name: "create with environment, metadata and a time limit; kill" },
    covers: ["static Sandbox.create", "Sandbox.kill"],
    async attempt({ sdk, options }) {
      const made = await sdk.Sandbox.create("base", {
        ...options,
        ...{ envs: { WHO: "Ada" }, metadata: { who: "Ada" }, timeoutMs: 600_000 },
      });
      const { stdout } = await made.commands.run("echo $WHO");
      const { metadata, startedAt, endAt } = await made.getInfo();
      same(await made.kill(), true);
      same([stdout, metadata], ["Ada\n", { who: "Ada" }]);
      holds(Math.abs(endAt.getTime() - startedAt.getTime() - 600_000) < 60_000, "its end is in 600 s");
    },
  },
  {
    ...{ area, name: "kill by its id; again: false" },
    covers: ["static SandboxApi.kill"],
    async attempt({ sdk, options }) {
      const { sandboxId } = await sdk.Sandbox.create("base", { ...options, timeoutMs: 600_000 });
      same(await sdk.Sandbox.kill(sandboxId, options), true);
      same(await sdk.Sandbox.kill(sandboxId, options), false);
    },
  },
  {
    ...{ area, name: "create with the class `E2B`, which holds options" },
    covers: [],
    async attempt({ sdk, options }) {
      const made = await new sdk.E2B(options).Sandbox.create("base", { timeoutMs: 600_000 });
      same(await made.kill(), true);
    },
  },
  {
    ...{ area, name: "create with `secure: false`" },
    covers: [],
    attempt: (context) =>
      withSandbox(context, { secure: false }, async (made) =>
        same((await made.commands.run("echo on")).stdout, "on\n"),
      ),
  },
  {
    ...{ area, name: "create with `lifecycle`: paused at its time limit, and resumed by a call" },
    covers: [],
    attempt: (context) =>
      withSandbox(context, { lifecycle: { onTimeout: "pause", autoResume: true } }, async (made) => {
        const { lifecycle } = await made.getInfo();
        same([lifecycle?.onTimeout, lifecycle?.autoResume], ["pause", true]);
        await made.pause();
        same((await made.commands.run("echo on")).stdout, "on\n");
      }),
  },
  {
    ...{ area, name: "connect by its id" },
    covers: ["static Sandbox.connect"],
    async attempt({ sdk, options, sandbox }) {
      const same1 = await sdk.Sandbox.connect(sandbox.sandboxId, options);
      same((await same1.commands.run("echo $GREETING")).stdout, "hello\n");
    },
  },
  {
    ...{ area, name: "pause and connect: processes and files are those of before" },
    covers: ["Sandbox.pause", "Sandbox.connect", "Sandbox.isRunning"],
    attempt: (context) => withSandbox(context, {}, async (made) => pauseAndConnect(made)),
  },
  {
    ...{ area, name: "pause by its id, under both names" },
    covers: ["static SandboxApi.pause", "static SandboxApi.betaPause", "Sandbox.betaPause"],
    attempt: (context) =>
      withSandbox(context, {}, async (made) => {
        const { Sandbox } = context.sdk;
        same(await Sandbox.pause(made.sandboxId, context.options), true);
        same(await Sandbox.pause(made.sandboxId, context.options), false);
        await made.connect();
        same(await Sandbox.betaPause(made.sandboxId, context.options), true);
        await made.connect();
        same(await made.betaPause(), true);
      }),
  },
  {
    ...{ area, name: "pause with `keepMemory: false`: it boots from its disk" },
    covers: [],
    attempt: (context) =>
      withSandbox(context, {}, async (made) => {
        await made.files.write("kept.txt", "kept");
        await made.commands.run("sleep 1000", { background: true });
        await made.pause({ keepMemory: false });
        await made.connect();
        same([await made.files.read("kept.txt"), await made.commands.list()], ["kept", []]);
      }),
  },
  {
    ...{ area, name: 'connect with `onResume: "reboot"`' },
    covers: [],
    attempt: (context) =>
      withSandbox(context, {}, async (made) => {
        if (!context.rebootsOnConnect) throw new NotInVersion();
        await made.commands.run("sleep 1000", { background: true });
        await made.pause();
        await made.connect({ onResume: "reboot" });
        same(await made.commands.list(), []);
      }),
  },
  {
    ...{ area, name: "fork" },
    covers: ["Sandbox.fork", "static Sandbox.fork"],
    attempt: (context) =>
      withSandbox(context, {}, async (made) => {
        const { Sandbox } = context.sdk;
        await made.files.write("kept.txt", "kept");
        const forks = [
          ...(await made.fork({ count: 2 })),
          ...(await Sandbox.fork(made.sandboxId, context.options)),
        ];
        for (const fork of forks) {
          if (fork instanceof Error) throw fork;
          same(await fork.files.read("kept.txt"), "kept");
          await fork.kill();
        }
        same(forks.length, 3);
      }),
  },
  {
    ...{ area, name: "list: by metadata and state, in pages, in both orders" },
    covers: ["static Sandbox.list", "SandboxPaginator.nextItems"],
    attempt: (context) => listed(context),
  },
  {
    ...{ area, name: "its information" },
    covers: ["Sandbox.getInfo", "static SandboxApi.getInfo", "static SandboxApi.getFullInfo"],
    async attempt({ sdk, options, sandbox }) {
      for (const info of [
        await sandbox.getInfo(),
        await sdk.Sandbox.getInfo(sandbox.sandboxId, options),
        await sdk.Sandbox.getFullInfo(sandbox.sandboxId, options),
      ])
        same(
          [info.sandboxId, info.name, info.state, info.cpuCount, info.memoryMB],
          [sandbox.sandboxId, "base", "running", 1, 256],
        );
    },
  },
  {
    ...{ area, name: "a new time limit" },
    covers: ["Sandbox.setTimeout", "static SandboxApi.setTimeout"],
    async attempt({ sdk, options, sandbox }) {
      for (const [set, hours] of [
        [(ms: number) => sandbox.setTimeout(ms), 2],
        [(ms: number) => sdk.Sandbox.setTimeout(sandbox.sandboxId, ms, options), 3],
      ] as const) {
        await set(hours * 3_600_000);
        const leftMs = (await sandbox.getInfo()).endAt.getTime() - Date.now();
        holds(Math.abs(leftMs - hours * 3_600_000) < 120_000, `it ends in ${hours} h`);
      }
    },
  },
  {
    ...{ area, name: "metrics" },
    covers: ["Sandbox.getMetrics", "static SandboxApi.getMetrics"],
    async attempt({ sdk, options, sandbox }) {
      for (const metrics of [
        await sandbox.getMetrics(),
        await sdk.Sandbox.getMetrics(sandbox.sandboxId, options),
      ])
        same([metrics.at(-1)?.cpuCount, metrics.at(-1)?.memTotal], [1, 256 * 1024 ** 2]);
    },
  },
  {
    ...{ area, name: "snapshots: create, list, create a sandbox of one, delete" },
    covers: [
      ...["Sandbox.createSnapshot", "static SandboxApi.createSnapshot", "Sandbox.listSnapshots"],
      ...[
        "static SandboxApi.listSnapshots",
        "SnapshotPaginator.nextItems",
        "static SandboxApi.deleteSnapshot",
      ],
    ],
    attempt: (context) => withSandbox(context, {}, (made) => snapshots(context, made)),
  },
  {
    ...{ area, name: "an id that is none: `SandboxNotFoundError`" },
    covers: [],
    attempt: ({ sdk, options }) =>
      throwsA(sdk.SandboxNotFoundError, () => sdk.Sandbox.connect("sbx_0000000000000000", options)),
  },
  {
    ...{ area, name: "a key that is none: `AuthenticationError`" },
    covers: [],
    attempt: ({ sdk, options }) =>
      throwsA(sdk.AuthenticationError, () =>
        sdk.Sandbox.create("base", { ...options, apiKey: `e2b_${"0".repeat(40)}` }),
      ),
  },
  {
    ...{ area, name: "a template that is none: an error that says 404" },
    covers: [],
    async attempt({ sdk, options }) {
      const error = await sdk.Sandbox.create("there-is-none", options).catch((thrown: unknown) => thrown);
      holds(error instanceof sdk.SandboxError && error.message.startsWith("404"), "it says 404");
    },
  },
];

async function pauseAndConnect(made: SdkContext["sandbox"]): Promise<void> {
  const sleeping = await made.commands.run("sleep 1000", { background: true });
  await made.files.write("kept.txt", "kept");
  same([await made.pause(), await made.isRunning()], [true, false]);
  await made.connect();
  same(
    [(await made.commands.list()).map(({ pid }) => pid), await made.files.read("kept.txt")],
    [[sleeping.pid], "kept"],
  );
  same(await made.isRunning(), true);
}

async function listed(context: SdkContext): Promise<void> {
  const metadata = { listed: `${context.prefix}-${Date.now()}` };
  await withSandbox(context, { metadata }, (first) =>
    withSandbox(context, { metadata }, async (second) => {
      const ids = async (order: "asc" | "desc", state: ("running" | "paused")[] = ["running", "paused"]) => {
        const pages = context.sdk.Sandbox.list({
          ...context.options,
          ...{ query: { metadata, state }, limit: 1, order },
        });
        const found: string[] = [];
        while (pages.hasNext) found.push(...(await pages.nextItems()).map(({ sandboxId }) => sandboxId));
        return found;
      };
      same(await ids("asc"), [first.sandboxId, second.sandboxId]);
      same(await ids("desc"), [second.sandboxId, first.sandboxId]);
      await second.pause();
      same(await ids("asc", ["paused"]), [second.sandboxId]);
    }),
  );
}

async function snapshots({ sdk, options, prefix }: SdkContext, made: SdkContext["sandbox"]): Promise<void> {
  await made.files.write("kept.txt", "kept");
  const { snapshotId, names } = await made.createSnapshot({ name: `${prefix}-snapshot` });
  holds(
    names.some((name) => name.includes(`${prefix}-snapshot`)),
    "the snapshot has its name",
  );
  const other = await sdk.Sandbox.createSnapshot(made.sandboxId, options);
  const ids = new Set([snapshotId, other.snapshotId]);
  for (const pages of [
    made.listSnapshots(),
    sdk.Sandbox.listSnapshots({ ...options, sandboxId: made.sandboxId }),
  ]) {
    const found = (await pages.nextItems()).map((one) => one.snapshotId);
    same(found.toSorted(), [...ids].toSorted());
  }
  const later = await sdk.Sandbox.create(snapshotId, { ...options, timeoutMs: 600_000 });
  const kept = await later.files.read("kept.txt");
  await later.kill();
  same(kept, "kept");
  for (const id of ids) same(await sdk.Sandbox.deleteSnapshot(id, options), true);
  same(await sdk.Sandbox.deleteSnapshot(snapshotId, options), false);
}
