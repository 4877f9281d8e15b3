import { execFileSync } from "node:child_process";
import { mkdtemp, readFile, rm, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ExtraCertificatesFault, readExtraCertificates } from "../src/templates/extra-certificates.ts";

let folder: string;
let one: string;
let other: string;
let key: string;

beforeAll(async () => {
  folder = await mkdtemp("/tmp/skerry-unit-certificates-");
  one = await certificate("one");
  other = await certificate("other");
  key = await readFile(join(folder, "one.key"), "utf8");
});
afterAll(() => rm(folder, { recursive: true, force: true }));

async function certificate(name: string): Promise<string> {
  const [file, keyFile] = [join(folder, `${name}.crt`), join(folder, `${name}.key`)];
  const curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];
  const made = ["-x509", "-days", "1", ...curve, "-keyout", keyFile, "-out", file, "-subj", `/CN=${name}`];
  execFileSync("openssl", ["req", ...made], { stdio: "ignore" });
  return readFile(file, "utf8");
}

async function read(content: string) {
  const file = join(folder, "bundle.pem");
  await writeFile(file, content);
  return readExtraCertificates(file);
}

test("every certificate of a file is taken, whatever stands between them, and never a key", async () => {
  const { certificates } = await read(`# ours\n${one}\n${key}\nsome words\r\n${other}`);
  expect(certificates).toEqual([one, other]);
  expect(certificates.join("")).not.toContain("PRIVATE KEY");
});

test("another certificate is another digest, and other words around it are not", async () => {
  const { digest } = await read(one);
  expect((await read(`# comment\n${one}`)).digest).toBe(digest);
  expect((await read(other)).digest).not.toBe(digest);
  expect((await read(one + other)).digest).not.toBe(digest);
});

test.each([
  ["is empty", () => "", "has no certificate"],
  ["holds a key alone", () => key, "has no certificate"],
  ["holds one that was cut off", () => one.slice(0, 200), "has no certificate"],
  [
    "holds one that is broken",
    () => `${one}-----BEGIN CERTIFICATE-----\nYWJj\n-----END CERTIFICATE-----\n`,
    "a certificate that is broken (number 2)",
  ],
])("a file that %s is refused with its name and what to do", async (_what, content, why) => {
  const reading = read(content());
  await expect(reading).rejects.toThrow(ExtraCertificatesFault);
  await expect(reading).rejects.toThrow(`SKERRY_EXTRA_CA: ${join(folder, "bundle.pem")}`);
  await expect(reading).rejects.toThrow(why);
  await expect(reading).rejects.toThrow("Name a file with certificates in PEM");
});

test("what is not there, no file or far too large is refused", async () => {
  await expect(readExtraCertificates(join(folder, "none"))).rejects.toThrow("none is not there");
  await expect(readExtraCertificates(folder)).rejects.toThrow("is not a file");
  await writeFile(join(folder, "large"), one);
  await truncate(join(folder, "large"), 3 * 1024 * 1024);
  await expect(readExtraCertificates(join(folder, "large"))).rejects.toThrow("has more than 2097152 bytes");
});
