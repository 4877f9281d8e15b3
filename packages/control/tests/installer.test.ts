// `curl -fsSL …/install.sh | sh`, as a user types it, in a home of its own and with the programs that the user has.

import { spawn } from "node:child_process";
import { once } from "node:events";
import {
  access,
  chmod,
  lstat,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  readlink,
  rm,
  stat,
  symlink,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { afterEach, beforeEach, expect, test } from "vitest";
import { CLIENT_VERSION } from "../src/clients/client-files.ts";
import { installScript } from "../src/clients/install-script.ts";
import { useWorld } from "./support/world.ts";

const world = useWorld();
let folder: string;
let home: string;
/** The user's programs. */
let bin: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "skerry-installer-"));
  [home, bin] = [join(folder, "home"), join(folder, "bin")];
  await Promise.all([mkdir(home), mkdir(bin)]);
  for (const name of "sh curl env mkdir mktemp rm mv ln chmod readlink".split(" ")) await link(name);
  await symlink(process.execPath, join(bin, "node"));
  // Who runs the tests is root, and most users are not.
  await program("id", "echo 1000");
});
afterEach(() => rm(folder, { recursive: true, force: true }));

async function link(name: string): Promise<void> {
  for (const from of ["/usr/bin", "/bin"]) {
    const path = join(from, name);
    if (
      await access(path).then(
        () => true,
        () => false,
      )
    )
      return symlink(path, join(bin, name));
  }
  throw new Error(`this machine has no ${name}`);
}

async function program(name: string, lines: string): Promise<void> {
  await rm(join(bin, name), { force: true });
  await writeFile(join(bin, name), `#!/bin/sh\n${lines}\n`, { mode: 0o755 });
}

interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

async function sh(
  script: string,
  env: Readonly<Record<string, string>> = {},
  args: readonly string[] = [],
): Promise<Ended> {
  const child = spawn("/bin/sh", ["-s", "--", ...args], {
    env: { PATH: bin, HOME: home, ...env },
    cwd: home,
  });
  // A shell that has read enough closes its input.
  child.stdin.on("error", () => undefined).end(script);
  const [stdout, stderr, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, "close"),
  ]);
  return { code: code as number | null, stdout, stderr };
}

async function script(): Promise<string> {
  return (await fetch(`${world.url}/install.sh`)).text();
}

const command = (): string => join(home, ".local/bin/skerry");
const config = (): string => join(home, ".config/skerry/config.json");
const nothing = async (): Promise<void> => expect(await readdir(home, { recursive: true })).toEqual([]);

test("it installs the command line, saves the server's address alone, and says what comes next", async () => {
  const { code, stdout, stderr } = await sh(await script());
  expect([code, stderr]).toEqual([0, ""]);
  expect(stdout).toBe(`skerry ${CLIENT_VERSION} is installed as ${command()}.
It is not in your PATH yet: export PATH="${home}/.local/bin:$PATH"
Next, with a token from the person who runs the server: skerry login
`);
  expect(await readFile(command())).toEqual(world.context.clients.cli?.content);
  expect(JSON.parse(await readFile(config(), "utf8"))).toEqual({ api_url: world.url });
  expect((await stat(config())).mode & 0o777).toBe(0o600);
  expect((await stat(join(home, ".config/skerry"))).mode & 0o777).toBe(0o700);
  expect(await readdir(join(home, ".local/lib/skerry-client"))).toEqual(["skerry.cjs"]);
});

test("it installs over itself, and keeps settings that are there", async () => {
  await sh(await script());
  await writeFile(config(), '{ "api_url": "https://other.example", "token": "sk_kept" }');
  await writeFile(join(home, ".local/lib/skerry-client/skerry.cjs"), "an older one");
  const { code, stdout } = await sh(await script(), { PATH: `${bin}:${home}/.local/bin` });
  expect([code, stdout]).toEqual([
    0,
    `skerry ${CLIENT_VERSION} is installed as ${command()}.
Next, with a token from the person who runs the server: skerry login --api-url ${world.url}
`,
  ]);
  expect(await readFile(config(), "utf8")).toContain("sk_kept");
  expect(await readFile(command())).toEqual(world.context.clients.cli?.content);
});

test("as root it installs for all users, and PREFIX says another place", async () => {
  await program("id", "echo 0");
  const prefix = join(folder, "prefix of spaces");
  const { code, stderr } = await sh(await script(), { PREFIX: prefix, SUDO_USER: "ada" });
  expect([code, stderr]).toEqual([0, ""]);
  expect(await readlink(join(prefix, "bin/skerry"))).toBe(join(prefix, "lib/skerry-client/skerry.cjs"));
  // With sudo the home may be another user's.
  await nothing();
  // Where it goes without PREFIX is not tried: that is this machine.
  expect(await script()).toContain('[ "$(id -u)" = 0 ]; then prefix=/usr/local\n');
});

test("an address that is given counts more than the one that the script came from", async () => {
  const { code } = await sh(await script(), {}, [`${world.url}/`]);
  expect(code).toBe(0);
  expect(JSON.parse(await readFile(config(), "utf8"))).toEqual({ api_url: world.url });
  for (const bad of [
    "ftp://x",
    "skerry.example",
    "https://",
    'https://x"y',
    "https://x$(id)",
    "https://x y",
  ]) {
    const refused = await sh(await script(), {}, [bad]);
    expect([refused.code, refused.stderr], bad).toEqual([
      1,
      expect.stringContaining("is no address of a server"),
    ]);
  }
});

test("another program of that name is left alone", async () => {
  await mkdir(join(home, ".local/bin"), { recursive: true });
  for (const make of [
    () => writeFile(command(), "mine"),
    () => symlink("/usr/local/lib/skerry/current/bin/skerry", command()),
  ]) {
    await rm(command(), { force: true });
    await make();
    const before = await lstat(command());
    const { code, stderr } = await sh(await script());
    expect([code, stderr]).toEqual([
      1,
      expect.stringMatching(/is there already, and not from here\.\n.*PREFIX/),
    ]);
    expect((await lstat(command())).ino).toBe(before.ino);
  }
});

test("without Node, or with an old or a broken one, it says what to install and changes nothing", async () => {
  const cases: readonly (readonly [string | undefined, string])[] = [
    [undefined, "Node.js is missing."],
    ["case $1 in -p) echo 18 ;; *) echo v18.20.4 ;; esac", "Node.js is v18.20.4, and 20 is needed."],
    ["exit 1", "Node.js is broken, and 20 is needed."],
  ];
  for (const [node, said] of cases) {
    if (node === undefined) await rm(join(bin, "node"));
    else await program("node", node);
    const { code, stderr } = await sh(await script());
    expect([code, stderr]).toEqual([
      1,
      expect.stringContaining(`error: ${said}\nInstall Node.js 20 or newer`),
    ]);
  }
  await nothing();
});

test("a file that is not the one that the script was made with is not installed", async () => {
  const made = installScript(world.context.clients.installer?.content.toString() ?? "", {
    address: world.url,
    version: CLIENT_VERSION,
    sha256: "0".repeat(64),
  });
  const { code, stderr } = await sh(made);
  expect([code, stderr]).toEqual([
    1,
    expect.stringMatching(/is not what it should be: its SHA-256 is [0-9a-f]{64}\./),
  ]);
  expect(await readdir(join(home, ".local/lib/skerry-client"))).toEqual([]);
  await expect(access(command())).rejects.toThrow("ENOENT");
});

test("a server that does not answer is named, and an earlier client goes on", async () => {
  await sh(await script());
  const { code, stderr } = await sh(await script(), {}, ["http://127.0.0.1:9"]);
  expect([code, stderr]).toEqual([
    1,
    expect.stringContaining("error: http://127.0.0.1:9/cli could not be downloaded."),
  ]);
  expect(await readdir(join(home, ".local/lib/skerry-client"))).toEqual(["skerry.cjs"]);
});

test("it works with wget, and says so where there is no program to download with", async () => {
  await rm(join(bin, "curl"));
  await program("wget", `[ "$1 $2" = "-q -O" ] && exec /usr/bin/curl -fsS -o "$3" "$4"`);
  expect((await sh(await script())).code).toBe(0);
  await rm(join(bin, "wget"));
  expect(await sh(await script())).toMatchObject({
    code: 1,
    stderr: "error: curl and wget are missing.\nInstall one of them.\n",
  });
});

test("of a script that was cut off, wherever that was, nothing runs", async () => {
  const whole = await script();
  // Whole is what has the brace that ends it.
  const end = whole.lastIndexOf("}");
  const lines = [...whole.matchAll(/\n/g)].map(({ index }) => index);
  const last = Array.from({ length: 80 }, (_, back) => end - back);
  // Anything that it could do, it would do with these.
  for (const name of ["mkdir", "curl", "node", "mktemp", "id"])
    await program(name, `echo ran >>${folder}/ran; exit 1`);
  for (const length of new Set([...lines.filter((at) => at <= end), ...last]))
    await sh(whole.slice(0, length));
  await nothing();
  await expect(access(join(folder, "ran"))).rejects.toThrow("ENOENT");
  await sh(whole);
  expect(await readFile(join(folder, "ran"), "utf8")).toContain("ran");
});

test("it says so where the folder cannot be written", async () => {
  await writeFile(join(home, ".local"), "a file");
  await chmod(join(home, ".local"), 0o600);
  const { code, stderr } = await sh(await script());
  expect([code, stderr]).toEqual([
    1,
    expect.stringContaining(`error: ${home}/.local cannot be written.\nChoose another place`),
  ]);
});
