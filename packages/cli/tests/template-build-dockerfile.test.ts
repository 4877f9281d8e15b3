// Folders whose Dockerfile is built: as a whole, or in groups.

import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { readyBuildServer } from "./support/build-server.ts";
import { Shell } from "./support/shell.ts";

async function planOf(shell: Shell, ...flags: readonly string[]) {
  const { stdout } = await shell.run("template", "build", "--plan", "--json", ...flags);
  return JSON.parse(stdout.toString()) as {
    readonly on: unknown;
    readonly steps: readonly { readonly shown: string }[];
  };
}

async function write(shell: Shell, name: string, text: string): Promise<void> {
  const file = join(shell.folder, name);
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, text);
}

test("a Dockerfile is planned where it is named", async () => {
  await using shell = await Shell.open();
  await write(shell, "index.html", "");
  await write(shell, "deploy/Dockerfile", "FROM scratch");
  const named = ["--dockerfile", "deploy/Dockerfile", "--target", "last", "--build-arg", "A=1"];
  const plan = await planOf(shell, ...named);
  expect(plan.on).toBeNull();
  expect(plan.steps[0]?.shown).toBe("buildah build --file deploy/Dockerfile --target last");
  const missing = await shell.run("template", "build", "--plan", "--dockerfile", "Dockerfile");
  expect([missing.code, missing.stderr]).toEqual([
    1,
    "error: There is no Dockerfile in this folder. (no_dockerfile)\n" +
      "Name a Dockerfile that is there, by its path in this folder; without one what the folder is is detected.\n",
  ]);
  const below = await shell.run("template", "build", "deploy", "--plan", "--dockerfile", "deploy/Dockerfile");
  expect(below.stderr).toMatch(
    /There is no deploy\/Dockerfile in deploy\. .*\nName a Dockerfile that is there, by its path in deploy;/,
  );
});

test("a plan says what a Dockerfile begins on, and what holds then", async () => {
  await using shell = await Shell.open();
  const plan = async () => (await shell.run("template", "build", "--plan")).stdout.toString();
  await write(shell, "Dockerfile", "FROM base\nWORKDIR /app\nENV A=1\n");
  expect(await plan()).toMatch(
    /0 +begin on base: [^]*user +that of what it begins on\nworkdir +\/app\nA +1\n/,
  );
  await write(shell, "Dockerfile", "FROM scratch\nWORKDIR app\n");
  expect(await plan()).toMatch(/0 +begin on an empty disk\n[^]*workdir +\/app\n/);
});

test("a plan says that VMs do not run a Dockerfile's command, and what does, unless a start is given", async () => {
  await using shell = await Shell.open();
  const plan = async (...flags: string[]) =>
    (await shell.run("template", "build", "--plan", ...flags)).stdout.toString();
  await write(shell, "Dockerfile", 'FROM base\nENTRYPOINT ["/srv/web"]\nCMD ["--port", "80"]\n');
  expect(await plan()).toMatch(
    /Its command is not run by itself: \/srv\/web --port 80\nBuild with --start COMMAND .*skerry machine create --command/,
  );
  expect(await plan("--start", "/srv/web")).not.toContain("is not run by itself");
  await write(shell, "Dockerfile", 'FROM base\nCMD ["bash"]\n');
  expect(await plan(), "a shell waits for a person").not.toContain("is not run by itself");
});

test("one that copies behind a command is planned in groups", async () => {
  await using shell = await Shell.open();
  const shown = async (...flags: string[]) => (await planOf(shell, ...flags)).steps.map((step) => step.shown);
  await write(shell, "Dockerfile", "FROM web\nCOPY needs.txt .\nRUN install\nCOPY . .\nRUN compile\n");
  const seal = "clean up and check the disk";
  expect(await shown()).toEqual(["COPY needs.txt .\nRUN install\n", "COPY . .\nRUN compile\n", seal]);
  await write(shell, "Dockerfile", "FROM web\n# Longer than a request has it.\n".padEnd(20_000, "#"));
  expect(await shown("--from", "web")).toEqual(["buildah build --file Dockerfile", seal]);
});

test("one that .dockerignore leaves out is built, and not sent", async () => {
  await using server = await readyBuildServer();
  await using shell = await Shell.forServer(server);
  await write(shell, ".dockerignore", "*\n!src\n");
  await write(shell, "src/main", "");
  await write(shell, "Dockerfile", "FROM web\nCOPY src .\n");
  expect((await shell.run("template", "build", "--name", "app")).code).toBe(0);
  const [asked, sent] = server.received;
  expect(JSON.parse(asked?.body.toString() ?? "")).toMatchObject({
    dockerfile: { text: "FROM web\nCOPY src .\n" },
  });
  expect([sent?.body.includes("src/main"), sent?.body.includes("Dockerfile")]).toEqual([true, false]);
  await write(shell, "Dockerfile", "FROM web\n".padEnd(20_000, "#"));
  const long = await shell.run("template", "build", "--plan");
  expect(long.stderr).toContain("(dockerfile_left_out)");
});
