// Files that the sites of `inject-sites.ts` serve to holders of the secret.

import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { run } from "./run.ts";

/** A repository of git and a package of pip below `site` in the folder. */
export async function makeSite(folder: string): Promise<void> {
  const [site, work] = [join(folder, "site"), join(folder, "work")];
  await mkdir(join(site, "simple/tiny"), { recursive: true });
  await mkdir(work);
  const git = (...words: string[]) =>
    run("git", "-C", work, "-c", "user.name=a", "-c", "user.email=a@b", ...words);
  await git("init", "-q", "-b", "main");
  await writeFile(join(work, "file"), "of the repository\n");
  await git("add", "file");
  await git("commit", "-q", "-m", "first");
  await run("git", "clone", "-q", "--bare", work, join(site, "repository.git"));
  await run("git", "-C", join(site, "repository.git"), "update-server-info");
  const wheel = "tiny-1.0-py3-none-any.whl";
  await run("python3", "-c", WHEEL, join(site, "simple/tiny", wheel));
  await writeFile(join(site, "simple/tiny/index.html"), `<a href="${wheel}">${wheel}</a>`);
}

const WHEEL = `
import sys, zipfile
info = "tiny-1.0.dist-info"
with zipfile.ZipFile(sys.argv[1], "w") as wheel:
    wheel.writestr("tiny.py", "ANSWER = 42\\n")
    wheel.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\\nName: tiny\\nVersion: 1.0\\n")
    wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\\nGenerator: a\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
    wheel.writestr(f"{info}/RECORD", "")
`;
