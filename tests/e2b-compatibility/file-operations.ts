// Operations of the SDK on files.

import { randomBytes } from "node:crypto";
import { until } from "../support/platform.ts";
import { same, throwsA } from "./operation.ts";
import type { SdkContext, SdkOperation } from "./sdk.ts";

const area = "Files";

export const fileOperations: readonly SdkOperation[] = [
  {
    ...{ area, name: "write text, bytes, a `Blob`, a stream" },
    covers: ["Filesystem.write"],
    attempt: (context) => written(context, {}),
  },
  {
    ...{ area, name: "write with `gzip`", covers: [] },
    attempt: (context) => written(context, { gzip: true }),
  },
  {
    ...{ area, name: "write with `useOctetStream`", covers: [] },
    attempt: (context) => written(context, { useOctetStream: true }),
  },
  {
    ...{ area, name: "write with `metadata`", covers: [] },
    async attempt({ sandbox: { files } }) {
      await files.write("noted.txt", "x", { metadata: { by: "Ada" } });
      same((await files.getInfo("noted.txt")).metadata, { by: "Ada" });
    },
  },
  {
    ...{ area, name: "write many at once" },
    covers: ["Filesystem.writeFiles"],
    async attempt({ sandbox: { files } }) {
      const entries = ["many/a", "many/b"].map((path) => ({ path, data: path }));
      const paths = ["/home/user/many/a", "/home/user/many/b"];
      same(
        (await files.write(entries)).map(({ path }) => path),
        paths,
      );
      same(
        (await files.writeFiles(entries)).map(({ path }) => path),
        paths,
      );
      same(await files.read("many/b"), "many/b");
    },
  },
  {
    ...{ area, name: "read text, bytes, a `Blob`, a stream" },
    covers: ["Filesystem.read"],
    async attempt({ sandbox: { files } }) {
      const bytes = randomBytes(300_000);
      await files.write("bytes.bin", new Blob([bytes]));
      for (const read of [
        await files.read("bytes.bin", { format: "bytes" }),
        await files.read("bytes.bin", { format: "bytes", gzip: true }),
        await (await files.read("bytes.bin", { format: "blob" })).bytes(),
        await new Response(await files.read("bytes.bin", { format: "stream" })).bytes(),
      ])
        same(bytes.equals(read), true);
      await files.write("text.txt", "ü\n");
      same(await files.read("text.txt"), "ü\n");
    },
  },
  {
    ...{ area, name: "read and write as another user" },
    covers: [],
    async attempt({ sandbox: { files } }) {
      await files.write("/root/own.txt", "x", { user: "root" });
      const { owner, path } = await files.getInfo("own.txt", { user: "root" });
      same([owner, path, await files.read("own.txt", { user: "root" })], ["root", "/root/own.txt", "x"]);
    },
  },
  {
    ...{ area, name: "a file that is none: `FileNotFoundError`" },
    covers: [],
    attempt: ({ sdk, sandbox }) => throwsA(sdk.FileNotFoundError, () => sandbox.files.read("there-is-none")),
  },
  {
    ...{ area, name: "make a directory; again: false" },
    covers: ["Filesystem.makeDir"],
    async attempt({ sandbox: { files } }) {
      const path = `made-${Date.now()}/below`;
      same([await files.makeDir(path), await files.makeDir(path)], [true, false]);
    },
  },
  {
    ...{ area, name: "list, with `depth`" },
    covers: ["Filesystem.list"],
    async attempt({ sandbox: { files } }) {
      await files.write("tree/below/leaf", "x");
      await files.write("tree/leaf", "x");
      const names = async (depth: number) =>
        (await files.list("tree", { depth })).map(({ name, type }) => `${type} ${name}`).toSorted();
      same(await names(1), ["dir below", "file leaf"]);
      same(await names(2), ["dir below", "file leaf", "file leaf"]);
    },
  },
  {
    ...{ area, name: "exists, information, also of a link" },
    covers: ["Filesystem.exists", "Filesystem.getInfo"],
    async attempt({ sandbox: { files, commands } }) {
      await files.write("known.txt", "four");
      await commands.run("chmod 640 known.txt; ln -sf known.txt link");
      const { name, type, path, size, mode, owner, group, permissions } = await files.getInfo("known.txt");
      same(
        [name, type, path, size, mode, owner, group, permissions],
        ["known.txt", "file", "/home/user/known.txt", 4, 0o640, "user", "user", "-rw-r-----"],
      );
      same((await files.getInfo("link")).symlinkTarget, "/home/user/known.txt");
      same([await files.exists("known.txt"), await files.exists("none.txt")], [true, false]);
    },
  },
  {
    ...{ area, name: "rename, remove" },
    covers: ["Filesystem.rename", "Filesystem.remove"],
    async attempt({ sandbox: { files } }) {
      await files.write("from.txt", "x");
      same((await files.rename("from.txt", "to/there.txt")).path, "/home/user/to/there.txt");
      await files.remove("to");
      same([await files.exists("from.txt"), await files.exists("to")], [false, false]);
    },
  },
  {
    ...{ area, name: "watch a directory, with all below it and with entries; stop" },
    covers: ["Filesystem.watchDir", "WatchHandle.stop"],
    attempt: (context) => watched(context),
  },
  {
    ...{ area, name: "signed URLs: up, down, and expired" },
    covers: ["Sandbox.uploadUrl", "Sandbox.downloadUrl", "getSignature"],
    async attempt({ sandbox }) {
      const form = new FormData();
      form.append("file", "signed");
      const up = await fetch(await sandbox.uploadUrl("signed.txt"), { method: "POST", body: form });
      const down = await fetch(await sandbox.downloadUrl("signed.txt", { useSignatureExpiration: 60 }));
      same([up.status, down.status, await down.text()], [200, 200, "signed"]);
      const late = await sandbox.downloadUrl("signed.txt", { useSignatureExpiration: -60 });
      same((await fetch(late)).status, 401);
    },
  },
];

async function written(
  { sandbox: { files, commands } }: SdkContext,
  how: { gzip?: boolean; useOctetStream?: boolean },
): Promise<void> {
  const bytes = new TextEncoder().encode("one\u00fc\n");
  const data = ["one\u00fc\n", bytes.buffer, new Blob([bytes]), new Blob([bytes]).stream()];
  for (const content of data) {
    await commands.run("rm -f written.txt");
    const { path, name, type } = await files.write("written.txt", content, how);
    same([path, name, type], ["/home/user/written.txt", "written.txt", "file"]);
    same(await files.read("written.txt"), "one\u00fc\n");
  }
}

async function watched({ sandbox: { files } }: SdkContext): Promise<void> {
  await files.remove("watched").catch(() => undefined);
  await files.makeDir("watched/below");
  const told: string[] = [];
  const watch = await files.watchDir(
    "watched",
    ({ type, name, entry }) => void told.push(`${type} ${name} ${entry?.path}`),
    { recursive: true, includeEntry: true },
  );
  await files.write("watched/below/leaf", "x");
  await until("the file was told", async () =>
    told.includes("create below/leaf /home/user/watched/below/leaf"),
  );
  await files.remove("watched/below/leaf");
  await until("the removal was told", async () => told.some((line) => line.startsWith("remove below/leaf")));
  await watch.stop();
  await files.remove("watched");
}
