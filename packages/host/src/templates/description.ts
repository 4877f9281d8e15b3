// A template is a folder: `templates/NAME/template.json`, and where it is wanted `templates/NAME/root`, whose files its image gets too. This module
// reads it and reports its faults.

import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { TemplateStart } from "@skerry/contract/host-api/templates";
import { idOfDigest } from "@skerry/contract/ids";
import { Type, type Static } from "typebox";
import { Value } from "typebox/value";
import type { ExtraCertificates } from "./extra-certificates.ts";

const version = Type.String({ pattern: "^[0-9]{1,3}\\.[0-9]{1,4}\\.[0-9]{1,4}$" });
const integrity = Type.String({ pattern: "^sha512-[A-Za-z0-9+/]{86}==$" });

/** Exact versions, and the digests of their archives as npm's registry writes them. */
const NodePins = Type.Object(
  { version, integrity, npm_version: version, npm_integrity: integrity },
  { additionalProperties: false },
);
export type NodePins = Static<typeof NodePins>;

const Description = Type.Object(
  {
    description: Type.String({ minLength: 1, maxLength: 500 }),
    /** A Debian release by name, for example `bookworm`. */
    suite: Type.String({ pattern: "^[a-z]{3,20}$" }),
    packages: Type.Array(Type.String({ pattern: "^[a-z0-9][a-z0-9.+-]{0,100}$" }), { maxItems: 500 }),
    /** Node.js and npm from npm's registry, in /usr/local. */
    node: Type.Optional(NodePins),
    disk_gib: Type.Integer({ minimum: 1, maximum: 64 }),
    /** Templates are built in VMs of it, which have a second disk for that, and it is good for nothing else. */
    builds: Type.Optional(Type.Literal(true)),
    /** Its image is built when the first VM of it is asked for, and not when the host starts. */
    on_demand: Type.Optional(Type.Literal(true)),
    /** Name of a user with a home and a shell, who is number 1000 and may become root without a password where there is a `sudo`. */
    user: Type.Optional(Type.String({ pattern: "^[a-z][a-z0-9-]{0,30}$" })),
    /** Shell commands that root runs in the image when its packages and files are there, without a VM. */
    set_up: Type.Optional(
      Type.Array(Type.String({ minLength: 1, maxLength: 1_000 }), { minItems: 1, maxItems: 20 }),
    ),
    /** Shell commands run before the freeze, so that clones wake with these programs in memory. */
    warm_up: Type.Array(Type.String({ minLength: 1, maxLength: 1_000 }), { maxItems: 20 }),
    /** A command that runs on in each clone, and what holds before the freeze. Root runs it. */
    start: Type.Optional(TemplateStart),
    /** Environment of what runs in VMs of this template; theirs, and a command's, lies over it. As much as
     *  fits one frame beside the largest that a user may give. */
    env: Type.Optional(
      Type.Record(
        Type.String({ pattern: "^[A-Za-z_][A-Za-z0-9_]{0,63}$" }),
        // ASCII of which nothing is longer as JSON.
        Type.String({ pattern: "^[ !#-[\\]-~]{0,200}$" }),
        { maxProperties: 16, additionalProperties: false },
      ),
    ),
  },
  { additionalProperties: false },
);

export interface TemplateDescription extends Static<typeof Description> {
  readonly name: string;
  /** A folder whose files the image gets, as root's; undefined where there is none. */
  readonly files: string | undefined;
  /** Digest of the whole content: a changed description is another template. */
  readonly id: string;
  readonly digest: string;
  /** Digest of the fields that determine the root disk: a change of the warm-up commands needs no other
   *  disk. */
  readonly diskDigest: string;
}

/** A template folder is unusable; `message` names the file and the fault. */
export class TemplateFault extends Error {
  override readonly name = "TemplateFault";
}

/** Every template in this folder, by name. What guests trust besides Debian's authorities is a part of each. */
export async function readDescriptions(
  folder: string,
  certificates?: ExtraCertificates,
): Promise<TemplateDescription[]> {
  const entries = await readdir(folder, { withFileTypes: true });
  const names = entries.filter((entry) => entry.isDirectory()).map((entry) => entry.name);
  return Promise.all(names.sort().map((name) => readDescription(folder, name, certificates)));
}

async function readDescription(
  folder: string,
  name: string,
  certificates: ExtraCertificates | undefined,
): Promise<TemplateDescription> {
  const file = join(folder, name, "template.json");
  if (!/^[a-z][a-z0-9-]{0,62}$/.test(name))
    throw new TemplateFault(`${file}: the folder's name is not a template name`);
  const text = await readFile(file, "utf8").catch((error: unknown) => {
    throw new TemplateFault(`${file}: cannot be read`, { cause: error });
  });
  const content = parse(file, text);
  // The name is part of the identity, so that two templates with one content stay two.
  const trusted = certificates === undefined ? [] : [certificates.digest];
  const files = join(folder, name, "root");
  const own = await filesBelow(files);
  const added = own === undefined ? [] : [{ files: own }];
  const digest = digestOf([name, content, ...trusted, ...added]);
  const { suite, packages, disk_gib, user, set_up, node } = content;
  const users = user === undefined ? [] : [{ user }];
  const pinned = node === undefined ? [] : [{ node }];
  const made = set_up === undefined ? [] : [{ set_up }];
  return {
    ...content,
    ...{ name, id: idOfDigest("template", digest), digest: digest.toString("hex") },
    diskDigest: digestOf([
      ...[name, suite, packages, disk_gib],
      ...[...users, ...trusted, ...added, ...made, ...pinned],
    ]).toString("hex"),
    files: own === undefined ? undefined : files,
  };
}

/** Paths with their content's digests, in order; undefined where there is no such folder. */
async function filesBelow(folder: string): Promise<readonly (readonly string[])[] | undefined> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(
    (error: NodeJS.ErrnoException) => {
      if (error.code === "ENOENT") return undefined;
      throw error;
    },
  );
  const paths = entries?.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  if (paths === undefined) return undefined;
  return Promise.all(
    paths.sort().map(async (path) => {
      const content = createHash("sha256").update(await readFile(path));
      return [path.slice(folder.length), content.digest("hex")];
    }),
  );
}

function digestOf(content: unknown): Buffer {
  return createHash("sha256").update(JSON.stringify(content)).digest();
}

function parse(file: string, text: string): Static<typeof Description> {
  let content: unknown;
  try {
    content = JSON.parse(text);
  } catch (error) {
    throw new TemplateFault(`${file}: not JSON`, { cause: error });
  }
  if (Value.Check(Description, content)) return content;
  const [fault] = Value.Errors(Description, content);
  throw new TemplateFault(`${file}: ${fault?.instancePath ?? "/"} ${fault?.message ?? "is invalid"}`);
}
