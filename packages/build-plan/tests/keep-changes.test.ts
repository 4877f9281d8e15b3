// What a Dockerfile has written over a template becomes the template's, with real overlays in namespaces of this machine.

import { spawnSync } from "node:child_process";
import { mkdtempSync, rmdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { KEEP_CHANGES } from "../src/scripts/dockerfile-scripts.ts";

const WITHIN_MS = 60_000;

/** Each runs in the root of a file system over the one before. */
interface Layers {
  readonly template: string;
  readonly first: string;
  readonly second: string;
}

/** Two layers are written over a template and kept. Prints what all of it looks like, before as the overlay shows it and after on the template's disk. */
function keep({ template, first, second }: Layers): { readonly shown: string; readonly kept: string } {
  const script = `
set -eu -o pipefail
${KEEP_CHANGES}
work=$1
mount -t tmpfs tmpfs "$work" && cd "$work"
# Where lists are written, so that they go with the namespace, however it ends.
mount -t tmpfs tmpfs /var/tmp
mkdir template first second empty work tree
look() {
  (
    cd "$1"
    find . -mindepth 1 ! -type d -printf '%p %y %m %U:%G %s %T@ %l\\n' -o -printf '%p %y %m %U:%G %T@\\n' | LC_ALL=C sort
    find . -type f -print0 | LC_ALL=C sort -z | xargs -0 sha256sum
    find . -type c -exec stat -c '%n %t:%T' {} + | LC_ALL=C sort
    python3 -c 'import os
for at, folders, files in sorted(os.walk(".")):
  for name in sorted(files + folders):
    path = os.path.join(at, name)
    for key in os.listxattr(path, follow_symlinks=False):
      if not key.startswith("trusted.overlay."): print(path, key, os.getxattr(path, key, follow_symlinks=False))'
    [ ! -e linked ] || find . -samefile linked | LC_ALL=C sort
  )
}
(cd template; ${template})
mount -t overlay -o lowerdir=template,upperdir=first,workdir=work overlay tree
(cd tree; ${first})
umount tree; rm -r work; mkdir work
mount -t overlay -o lowerdir=first:template,upperdir=second,workdir=work overlay tree
(cd tree; ${second})
umount tree
mount -t overlay -o lowerdir=empty:second:first:template overlay tree
look tree
echo =====
mount --bind template /mnt
store=$work tree=$work/tree over=(empty second first template)
release() { umount "$tree"; }
keep_changes
look /mnt
`;
  const folder = mkdtempSync(join(tmpdir(), "skerry-keep-"));
  const inNamespace = 'exec unshare --mount --propagation private bash -c "$0" bash "$1"';
  const args = ["-c", inNamespace, script, folder];
  const { status, stdout, stderr } = spawnSync("/bin/sh", args, { encoding: "utf8", timeout: WITHIN_MS });
  // What was mounted there has gone with the namespace.
  rmdirSync(folder);
  expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
  const [shown = "", kept = ""] = stdout.split("=====\n");
  return { shown, kept };
}

const nothing = { template: ":", first: ":", second: ":" };
const setAttribute = (file: string) =>
  `python3 -c 'import os; os.setxattr("${file}", "trusted.kept", b"\\x00value")'`;

test.each<[string, Partial<Layers>]>([
  ["nothing was changed", { template: "mkdir a; echo 1 >a/b" }],
  [
    "files were changed, added and removed, also again",
    {
      template: "mkdir -p a/b; for n in 1 2 3 4 5; do echo $n >a/b/$n; done",
      first: "echo changed >a/b/1; rm a/b/2 a/b/3; echo new >a/b/6; chmod 4711 a/b/4; chown 12:34 a/b/4",
      second: "echo again >a/b/3; rm a/b/6; mv a/b/5 a/b/7; touch -d 2001-02-03T04:05:06.789 a",
    },
  ],
  [
    "folders were removed, and made anew with less in them",
    {
      template: "mkdir -p a/b c/d e/f; touch a/b/1 c/1 c/d/2 e/1 e/f/2",
      first: "rm -r a c; mkdir c; touch c/3; rm -r e",
      second: "mkdir -p a e/f; rm -r c; mkdir -m 1777 c; touch c/4 e/f/3",
    },
  ],
  [
    "what was of one kind became another",
    {
      template: "mkdir -p folder/in other; echo 1 >file; ln -s other link; touch folder/in/it other/it",
      first: "rm -r folder file link; echo 1 >folder; mkdir -p file/in link; ln -s /etc file/in/link",
      second: "rm folder; mkdir folder; rm -r file; ln -s folder file; touch folder/2",
    },
  ],
  [
    "a folder took the place of a link, whose destination stays",
    {
      template: "mkdir -p usr/lib/sub; touch usr/lib/sub/kept; ln -s usr/lib lib; ln -s /etc outside",
      first: "rm lib outside; mkdir -p lib/sub outside; touch lib/sub/new outside/hosts",
      second: "rm -r outside; ln -s usr outside; rm -r lib/sub; ln -s ../usr/lib/sub lib/sub",
    },
  ],
  [
    "links, attributes, devices and pipes",
    {
      template: `echo 1 >linked; ln linked twice; echo 2 >has; ${setAttribute("has")}`,
      first: `ln linked third; mkfifo pipe; mknod null c 1 3; echo 3 >more; ${setAttribute("more")}`,
      second: "rm pipe; mkdir pipe; touch -h -d @5 pipe; chmod 600 has; rm null; mknod null c 1 5",
    },
  ],
  [
    "names that mean something to a shell or an archiver",
    {
      template: `touch -- -rf '--help' 'a b' $'new\\nline' 'back\\101slash' '*'`,
      first: `rm -- -rf 'a b' $'new\\nline'; echo 1 >'*'; touch -- '-C' 'a\\nb' '"' $'\\xff'`,
      second: `rm -- --help; mkdir -- $'new\\nline'; touch -- $'new\\nline/-x'`,
    },
  ],
])("the template becomes what was shown over it: %s", (_, layers) => {
  const { shown, kept } = keep({ ...nothing, ...layers });
  expect(shown).not.toBe("");
  expect(kept).toBe(shown);
});
