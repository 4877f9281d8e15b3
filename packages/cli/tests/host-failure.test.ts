import { expect, test } from "vitest";
import { hostFailure } from "../src/local/servers/host-failure.ts";

const title = "Root disk of template base";
const fault = (said: string) => ({
  command: "prepare" as const,
  step: { title, message: `mmdebstrap ended with 25: ${said}` },
  stderr: "a trace of our code",
});

/** As mmdebstrap 1.5 ends with an archive at which nothing listens. */
const REFUSED = `I: running apt-get update...
Ign:1 http://127.0.0.1:1/debian trixie InRelease
Err:1 http://127.0.0.1:1/debian trixie InRelease
  Could not connect to 127.0.0.1:1 (127.0.0.1). - connect (111: Connection refused)
Reading package lists...
E: Failed to fetch http://127.0.0.1:1/debian/dists/trixie/InRelease  Could not connect to 127.0.0.1:1 (127.0.0.1). - connect (111: Connection refused)
E: Some index files failed to download. They have been ignored, or old ones used instead.
E: apt-get update --error-on=any -oAPT::Status-Fd=<$fd> -oDpkg::Use-Pty=false failed
I: main() received signal PIPE: waiting for setup...
E: mmdebstrap failed to run`;

test.each([
  REFUSED,
  "E: Failed to fetch http://archive.example/debian/pool/x.deb  Connection failed [IP: 192.0.2.1 80]",
  "Err:1 http://archive.example/debian trixie InRelease\n  Temporary failure resolving 'archive.example'",
  "E: The repository 'http://archive.example/debian trixie Release' does not have a Release file.",
  "E: Failed to fetch http://archive.example/Packages.xz  Hash Sum mismatch",
])("an archive of packages that breaks off is told as that: %s", (said) => {
  const failure = hostFailure(fault(`I: downloading packages with apt...\n\n${said}`));
  expect(failure.code).toBe("mirror_failed");
  expect(failure.message).toBe(`${title}: Debian's package archive does not answer, or broke off.`);
  expect(failure.remediation).toMatch(/^Run the same command again.*SKERRY_DEBIAN_MIRROR/);
  expect(failure.lines?.join("\n")).toContain(said.split("\n").at(-1));
  expect(failure.lines?.join("\n")).not.toContain("a trace of our code");
});

test("what apt said is shown to its last lines, and another fault of mmdebstrap is none of the archive's", () => {
  const said = Array.from({ length: 30 }, (_, at) => `line ${at}`).join("\n");
  const failure = hostFailure(fault(`${said}\ntar: write error: No space left on device`));
  expect(failure.code).toBe("image_failed");
  expect(failure.remediation).toContain("`df -h`");
  expect(failure.lines).toHaveLength(8);
  expect(failure.lines?.at(-1)).toContain("No space left");
});

test("any other failure is told in the words of the host program", () => {
  const other = hostFailure({ command: "clear", stderr: "Error: no such file\n" });
  expect([other.code, other.lines?.[0]]).toEqual(["clear_failed", "Error: no such file"]);
  const kernel = { title: "Guest kernel of your own", message: "the kernel is none" };
  expect(hostFailure({ command: "prepare", step: kernel, stderr: "the kernel is none" }).code).toBe(
    "prepare_failed",
  );
});
