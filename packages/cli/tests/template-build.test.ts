import { mkdir, symlink, truncate, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { Shell } from "./support/shell.ts";

async function write(folder: string, files: Readonly<Record<string, string>>): Promise<void> {
  for (const [name, text] of Object.entries(files)) {
    await mkdir(dirname(join(folder, name)), { recursive: true });
    await writeFile(join(folder, name), text);
  }
}

interface PlanJson {
  readonly on: unknown;
  readonly steps: readonly { readonly kind: string; readonly shown: string }[];
  readonly config: unknown;
}

test("a plan is printed without a server: what was found, what would run, and what holds then", async () => {
  await using shell = await Shell.open();
  await write(shell.folder, {
    "app/package.json": '{"scripts":{"start":"node server.js"},"dependencies":{"left":"1"}}',
    "app/package-lock.json": "{}",
    "app/server.js": "",
    "app/node_modules/left/index.html": "",
  });
  const { code, stdout, stderr } = await shell.run("template", "build", "app", "--plan", "--env", "A=1");
  expect([code, stderr]).toEqual([0, ""]);
  const text = stdout.toString();
  expect(text).toContain("npm installs what package-lock.json says.\n");
  expect(text).toMatch(/\n0 +begin on node\n1 +go to \/app\n2 +copy package\.json to \/app\/package\.json\n/);
  expect(text).toMatch(/\n5 +copy \. to \/app\n/);
  expect(text).toMatch(/\nstarts +npm start\n/);
  expect(text).toMatch(/\nA +1\n/);
});

test("as JSON a plan has all that a step sees and copies", async () => {
  await using shell = await Shell.open();
  await write(shell.folder, { "index.html": "" });
  const { stdout } = await shell.run("template", "build", "--plan", "--json");
  const plan = JSON.parse(stdout.toString()) as PlanJson;
  expect(plan.on).toEqual({ template: "base" });
  expect(plan.steps.map(({ kind }) => kind)).toEqual(["workdir", "run", "copy", "seal"]);
  expect(plan.steps[2]).toMatchObject({ shown: "copy . to /app", inputs: ["."], sees: { workdir: "/app" } });
  expect(plan.steps[1]?.shown).toContain("serve_forever()");
});

test("a Dockerfile is planned where it is named", async () => {
  await using shell = await Shell.open();
  await write(shell.folder, { "index.html": "", "deploy/Dockerfile": "FROM scratch" });
  const named = ["--dockerfile", "deploy/Dockerfile", "--target", "last", "--build-arg", "A=1"];
  const { stdout } = await shell.run("template", "build", "--plan", "--json", ...named);
  const plan = JSON.parse(stdout.toString()) as PlanJson;
  expect(plan.on).toBeNull();
  expect(plan.steps[0]?.shown).toBe("buildah build --file deploy/Dockerfile --target last");
  const missing = await shell.run("template", "build", "--plan", "--dockerfile", "Dockerfile");
  expect([missing.code, missing.stderr]).toEqual([
    1,
    "error: There is no Dockerfile in the folder. (no_dockerfile)\n",
  ]);
});

test("what .dockerignore names is no part of a folder", async () => {
  await using shell = await Shell.open();
  await write(shell.folder, { "package.json": "{}", "index.html": "", ".dockerignore": "package.*\n" });
  const { stdout } = await shell.run("template", "build", "--plan");
  expect(stdout.toString()).toContain("Static files: there is index.html.");
});

test("a folder that cannot be built is refused with what to do", async () => {
  await using shell = await Shell.open();
  await mkdir(join(shell.folder, "empty"));
  await symlink("/etc/passwd", join(shell.folder, "empty/package.json"));
  const link = await shell.run("template", "build", "empty", "--plan");
  expect([link.code, link.stderr]).toEqual([
    1,
    "error: package.json cannot be read, or has more than 1048576 bytes. (invalid_build)\n",
  ]);
  await mkdir(join(shell.folder, "none"));
  const none = await shell.run("template", "build", "none", "--plan", "--json");
  expect(JSON.parse(none.stderr)).toMatchObject({ code: "app_not_detected" });
  await writeFile(join(shell.folder, "file"), "");
  const file = await shell.run("template", "build", "file", "--plan");
  expect(file.stderr).toContain("file is no folder. (not_directory)");
  const missing = await shell.run("template", "build", "missing", "--plan");
  expect(missing.code).toBe(1);
  expect(missing.stderr).toContain("missing");
});

test("a folder larger than a build takes is refused", async () => {
  await using shell = await Shell.open();
  await write(shell.folder, { "index.html": "", large: "" });
  // It takes no room.
  await truncate(join(shell.folder, "large"), 3 * 1024 ** 3);
  const { stderr } = await shell.run("template", "build", "--plan");
  expect(stderr).toBe(
    "error: The folder has more than 2147483648 bytes. (context_too_large)\nName what is not needed in .dockerignore.\n",
  );
});
