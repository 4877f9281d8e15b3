// `RUN --mount=…`, in the form that the builder's buildah reads: the type first, targets absolute, each
// option by one name.

import { joined } from "./dockerfile-scope.ts";
import { expanded, ExpansionFault, type Lookup } from "./dockerfile-words.ts";

export interface MountScope {
  readonly lookup: Lookup;
  readonly workdir: string | undefined;
}

export interface PlainMount {
  readonly value: string;
  /** A secret that the command finds in a variable, too. */
  readonly variable?: { readonly name: string; readonly path: string };
}

/** Refusal, as the end of a sentence that begins with the mount. */
export class MountFault extends Error {
  override readonly name = "MountFault";
  readonly remediation: string;

  constructor(message: string, remediation: string) {
    super(message);
    this.remediation = remediation;
  }
}

const ACCESS = ["ro", "rw"];
const OWNER = ["mode", "uid", "gid"];
const OPTIONS: Readonly<Record<string, readonly string[]>> = {
  bind: ["target", "source", "from", ...ACCESS],
  cache: ["target", "id", "source", "from", "sharing", ...OWNER, ...ACCESS],
  tmpfs: ["target", "size"],
  secret: ["target", "id", "env", "required", ...OWNER],
};
const NAMES: Readonly<Record<string, string>> = {
  ...{ dst: "target", destination: "target", src: "source", readonly: "ro", readwrite: "rw" },
};

type Options = ReadonlyMap<string, string>;

export function plainMount(text: string, scope: MountScope): PlainMount {
  const { type, options } = read(text);
  if (type === "ssh")
    throw new MountFault(
      "needs an SSH agent, which builds do not have",
      "Give the key as a secret: `RUN --mount=type=secret,id=…`, and --secret.",
    );
  const known = Object.hasOwn(OPTIONS, type) ? OPTIONS[type] : undefined;
  if (known === undefined)
    throw new MountFault(
      `is of the type ${type}, which there is not`,
      "There are bind, cache, tmpfs and secret.",
    );
  const other = [...options.keys()].find((name) => !known.includes(name));
  if (other !== undefined)
    throw new MountFault(
      `has the option \`${other}\`, which a mount of the type ${type} does not have in builds`,
      `It has ${known.join(", ")}.`,
    );
  if (type === "secret") return secret(options, scope);
  if (!options.has("target"))
    throw new MountFault("has no target", "Say where it is mounted: `target=/path`.");
  return {
    value: written(
      type,
      [...options].flatMap(([name, value]) => plainOption(name, value, scope)),
    ),
  };
}

function read(text: string): { readonly type: string; readonly options: Options } {
  const options = new Map<string, string>();
  let type = "bind";
  for (const field of fieldsOf(text)) {
    const [key = "", value = ""] = /^([^=]*)=?(.*)$/s.exec(field)?.slice(1) ?? [];
    const name = key.toLowerCase();
    if (name === "type") type = value.toLowerCase();
    // A mount of a secret says by either what it is.
    else options.set(NAMES[name] ?? name, value);
  }
  const source = options.get("source");
  if (type === "secret" && source !== undefined) {
    options.delete("source");
    options.set("id", source);
  }
  return { type, options };
}

/** Apart by commas, but for those in quotes. */
function fieldsOf(text: string): readonly string[] {
  const fields = text.match(/(?:"[^"]*"|[^,"])+/g) ?? [];
  return fields.map((field) => {
    const plain = field.replaceAll('"', "");
    if (plain.includes(","))
      throw new MountFault("has a comma in a value, which builds do not read", "Use another path.");
    return plain;
  });
}

function plainOption(name: string, value: string, scope: MountScope): readonly string[] {
  if (name === "target") return [`target=${absolute(value, scope)}`];
  if (name === "ro") return [isOn(name, value) ? "ro" : "rw"];
  if (name === "rw") return [isOn(name, value) ? "rw" : "ro"];
  if (name === "size") return [`tmpfs-size=${value}`];
  // One build alone has the cache, so each way of sharing is the same.
  if (name === "sharing" && ["shared", "private", "locked"].includes(value))
    return value === "shared" ? [`sharing=${value}`] : [];
  if (name === "sharing")
    throw new MountFault(
      `has the sharing ${value}, which there is not`,
      "There are shared, private and locked.",
    );
  return [`${name}=${value}`];
}

function secret(options: Options, scope: MountScope): PlainMount {
  const target = options.get("target");
  const id = options.get("id") ?? target?.split("/").at(-1) ?? "";
  if (id === "") throw new MountFault("names no secret", "Say which it is: `id=NAME`.");
  const path = target === undefined ? `/run/secrets/${id}` : absolute(target, scope);
  const own = new Map([["id", id], ...options]);
  const value = written(
    "secret",
    [...own].flatMap(([name, text]) => {
      if (name === "env") return [];
      if (name === "target") return [`target=${path}`];
      if (name === "required") return isOn(name, text) ? ["required=true"] : [];
      return [`${name}=${text}`];
    }),
  );
  const name = options.get("env");
  if (name === undefined) return { value };
  if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name))
    throw new MountFault(
      `has the env ${JSON.stringify(name)}, which is no name of a variable`,
      "Say `env=NAME`.",
    );
  return { value, variable: { name, path } };
}

function written(type: string, options: readonly string[]): string {
  return [`type=${type}`, ...options].join(",");
}

function isOn(name: string, value: string): boolean {
  if (["", "true", "1"].includes(value)) return true;
  if (["false", "0"].includes(value)) return false;
  throw new MountFault(`has \`${name}=${value}\``, `It is \`${name}=true\` or \`${name}=false\`.`);
}

/** Relative targets lie in the folder of WORKDIR. */
function absolute(path: string, { lookup, workdir }: MountScope): string {
  if (path.startsWith("/")) return path;
  const value = valueOf(path, lookup);
  // Buildah fills the variable in.
  if (value === undefined && path.startsWith("$")) return path;
  const whole = value === undefined ? undefined : joined(workdir, value);
  if (whole !== undefined) return whole;
  throw new MountFault(
    "has a relative target, and the folder that it is in is not known before the image of FROM is there",
    "Write a WORKDIR with an absolute path before it, or an absolute target.",
  );
}

function valueOf(path: string, lookup: Lookup): string | undefined {
  try {
    return expanded(path, lookup, { quotes: true });
  } catch (error) {
    if (error instanceof ExpansionFault) return undefined;
    throw error;
  }
}
