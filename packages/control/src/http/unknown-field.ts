// Answers a request with a field that it cannot have: says which field the caller may have meant.

import { SkerryError } from "@skerry/contract/errors";
import { editDistance } from "@skerry/contract/edit-distance";

/**
 * Names of fields in other products' APIs and in their clients, in snake case, and the names that they have
 * here.
 */
const otherNames: Readonly<Record<string, readonly string[]>> = {
  args: ["command"],
  auto_stop_interval: ["pause_after_idle"],
  cmd: ["command"],
  code: ["command"],
  cpu: ["size"],
  cpus: ["size"],
  current_dir: ["workdir"],
  cwd: ["workdir"],
  directory: ["workdir"],
  entrypoint: ["command", "start"],
  env_vars: ["env"],
  environment: ["env"],
  environment_variables: ["env"],
  envs: ["env"],
  expires_at: ["expires_in"],
  guest: ["size"],
  idle_timeout: ["pause_after_idle"],
  image: ["template"],
  input: ["stdin"],
  init: ["command"],
  labels: ["metadata"],
  lifetime: ["timeout"],
  memory: ["size"],
  memory_mb: ["size"],
  network: ["egress"],
  restart_policy: ["restart"],
  script: ["command"],
  snapshot_id: ["snapshot"],
  start_cmd: ["start"],
  tags: ["metadata"],
  template_id: ["template"],
  timeout_ms: ["timeout"],
  timeout_secs: ["timeout"],
  timeout_seconds: ["timeout"],
  ttl: ["timeout"],
  vcpus: ["size"],
  work_dir: ["workdir"],
  working_dir: ["workdir"],
  working_directory: ["workdir"],
};

/**
 * `name`: as the caller wrote it. `parent`: the object that it stands in, and `schema` the one of that
 * object.
 */
export function unknownField(name: string, parent: string, schema: object | undefined): SkerryError {
  const field = parent === "" ? name : `${parent}.${name}`;
  const { properties = {} } = (schema ?? {}) as { readonly properties?: Readonly<Record<string, object>> };
  const meant = fieldMeant(name, Object.keys(properties));
  return new SkerryError("unknown_field", `There is no field "${field}".`, {
    remediation:
      meant === undefined
        ? "Check the spelling; `GET /v1/openapi.json` lists the fields."
        : `Write "${meant}"${exampleOf(properties[meant])}.${hints[`${name} ${meant}`] ?? ""}`,
    context: { field },
  });
}

/** Hints by the field that was written and the one that was meant. */
const hints: Readonly<Record<string, string>> = {
  "image template":
    " `skerry template build --image IMAGE --name NAME` makes a template of a registry's image.",
};

function fieldMeant(name: string, fields: readonly string[]): string | undefined {
  const snake = name.replaceAll(/(?<=[a-z0-9])[A-Z]/g, (letter) => `_${letter}`).toLowerCase();
  const other = Object.hasOwn(otherNames, snake) ? (otherNames[snake] ?? []) : [];
  return [snake, ...other].find((one) => fields.includes(one)) ?? nearest(snake, fields);
}

/** Longer words may have two typing errors, short ones one. */
const LONG_CHARS = 6;

function nearest(name: string, fields: readonly string[]): string | undefined {
  const [close] = fields
    .map((field) => ({ field, distance: editDistance(name, field) }))
    .filter(({ field, distance }) => distance <= (field.length >= LONG_CHARS ? 2 : 1))
    .toSorted((one, other) => one.distance - other.distance);
  return close?.field;
}

/**
 * Says what a value looks like, because another product's field often has another type, such as a number of
 * seconds.
 */
function exampleOf(property: object | undefined): string {
  const { examples } = (property ?? {}) as { readonly examples?: readonly unknown[] };
  const example = examples?.[0];
  return typeof example === "string" ? `, for example ${JSON.stringify(example)}` : "";
}
