// Archives whose bytes follow from their contents alone: names in order, one owner, one time and one set of permissions.

import { spawnSync } from "node:child_process";
import { join } from "node:path";

const root = join(import.meta.dirname, "..");

/** Packs the folder `name` below `parent` into a .tar.gz. */
export function packSame(parent: string, name: string, archive: string): void {
  const same = [
    "--sort=name",
    "--owner=0",
    "--group=0",
    "--numeric-owner",
    `--mtime=@${sourceTime()}`,
    "--mode=u+rwX,go+rX,go-w",
    "--format=gnu",
    "--use-compress-program=gzip -n",
  ];
  const made = spawnSync("tar", ["--create", ...same, `--file=${archive}`, name], {
    cwd: parent,
    stdio: ["ignore", "inherit", "inherit"],
  });
  if (made.status !== 0) throw new Error("tar failed");
}

/** Seconds of the last commit; of a source archive without git, a fixed moment. `SOURCE_DATE_EPOCH` counts more. */
function sourceTime(): string {
  const given = process.env["SOURCE_DATE_EPOCH"];
  if (given !== undefined) return given;
  const { status, stdout } = spawnSync("git", ["log", "-1", "--format=%ct"], { cwd: root, encoding: "utf8" });
  return status === 0 && stdout.trim() !== "" ? stdout.trim() : "0";
}
