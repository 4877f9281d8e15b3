// The request for a build.

import { Type, type Static } from "typebox";
import { COMMAND_MAX_CHARS, TEMPLATE_REFERENCE_MAX_CHARS } from "../bounds.ts";
import { Duration, Env } from "../fields.ts";
import { named } from "../named.ts";
import {
  TEMPLATE_NAME_PATTERN,
  TEMPLATE_TAG_MAX_CHARS,
  TEMPLATE_TAG_PATTERN,
} from "../templates/template-name.ts";
import { EgressRequest } from "../vms/egress.ts";
import { VM_SECRETS_MAX } from "../secrets/secret-bounds.ts";
import { SecretName } from "../secrets/secret.ts";
import { DOCKERFILE_TEXT_MAX_CHARS } from "./context-bounds.ts";

const closed = { additionalProperties: false } as const;

/** Steps of one build. */
const BUILD_STEPS_MAX = 100;

const Path = Type.String({ minLength: 1, maxLength: 4_095 });
const Name = Type.String({ maxLength: 63, pattern: TEMPLATE_NAME_PATTERN });
const Tag = Type.String({ maxLength: TEMPLATE_TAG_MAX_CHARS, pattern: TEMPLATE_TAG_PATTERN });
const User = Type.String({ minLength: 1, maxLength: 100 });

/** Exactly one of these. */
const BuildStepRequest = Type.Object(
  {
    run: Type.Optional(
      Type.String({ minLength: 1, maxLength: COMMAND_MAX_CHARS, description: "A shell command line." }),
    ),
    copy: Type.Optional(
      Type.Object(
        {
          from: Type.String({
            minLength: 1,
            maxLength: 4_095,
            description: "A file or a folder of the context.",
          }),
          to: Path,
        },
        closed,
      ),
    ),
    env: Type.Optional(Env),
    workdir: Type.Optional(Path),
    user: Type.Optional(User),
  },
  { ...closed, description: "One thing to do: `run`, `copy`, `env`, `workdir` or `user`." },
);

/** When what `start` runs can be frozen. */
const ReadyCondition = Type.Object(
  {
    port: Type.Optional(Type.Integer({ minimum: 1, maximum: 65_535, description: "It takes connections." })),
    http: Type.Optional(
      Type.String({
        maxLength: 2_048,
        pattern: "^/",
        description: "A GET of this path is answered well, on `port` or on 80.",
      }),
    ),
    command: Type.Optional(
      Type.String({ minLength: 1, maxLength: COMMAND_MAX_CHARS, description: "It exits with 0." }),
    ),
    file: Type.Optional(
      Type.String({ minLength: 1, maxLength: 4_095, pattern: "^/", description: "It is there." }),
    ),
  },
  { ...closed, description: "One of `port`, `http`, `command` and `file`; `port` may be beside `http`." },
);

const TemplateStart = Type.Object(
  {
    command: Type.String({
      minLength: 1,
      maxLength: COMMAND_MAX_CHARS,
      description:
        "A shell command line that runs when the template is frozen: its clones wake with it running.",
    }),
    ready: Type.Optional(ReadyCondition),
  },
  closed,
);

export const BuildRequest = named(
  "BuildRequest",
  {
    name: Type.String({
      ...Name,
      description: "Of the template, such as `web`. Names of built-in templates are taken.",
    }),
    tag: Type.Optional(
      Type.String({
        ...Tag,
        description: "It names the new version, and so does `latest`. Default: `latest` alone.",
      }),
    ),
    more_tags: Type.Optional(
      Type.Array(Tag, {
        maxItems: 20,
        uniqueItems: true,
        description: "Further tags that name the new version.",
      }),
    ),
    from: Type.Optional(
      Type.String({
        maxLength: TEMPLATE_REFERENCE_MAX_CHARS,
        description:
          "The template or the id of a snapshot that `steps` stand on, `base` by default, or that `FROM` of this name in a Dockerfile means. Of a snapshot it is the disk alone.",
      }),
    ),
    steps: Type.Optional(Type.Array(BuildStepRequest, { maxItems: BUILD_STEPS_MAX })),
    dockerfile: Type.Optional(
      Type.Object(
        {
          path: Type.Optional(
            Type.String({ ...Path, description: "In the context. Default: `Dockerfile`." }),
          ),
          target: Type.Optional(
            Type.String({ minLength: 1, maxLength: 200, description: "The stage to build." }),
          ),
          text: Type.Optional(
            Type.String({
              minLength: 1,
              maxLength: DOCKERFILE_TEXT_MAX_CHARS,
              description:
                "The Dockerfile itself, in place of the context's file. One with a single stage is then carried out in groups of instructions, each of which is cached, and its `FROM` may name a template without `from`.",
            }),
          ),
          args: Type.Optional(Env),
        },
        { ...closed, description: "Builds the Dockerfile of the context." },
      ),
    ),
    image: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 1_000,
        description:
          "An image of a registry, such as `docker.io/library/alpine:3`. `steps` beside it stand on it, and do not see its environment.",
      }),
    ),
    archive: Type.Optional(
      Type.Boolean({
        description:
          "The context is an image: an OCI archive (`podman save --format oci-archive`) or Docker's (`docker save`), not compressed, with one image. `steps` beside it stand on it, without `copy`. Default: false.",
      }),
    ),
    git: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 6_000,
        description:
          "A repository to clone as the context, `URL[#REF[:FOLDER]]`, over https, http or git and without a login. With neither `steps` nor `dockerfile`, what it is is detected.",
      }),
    ),
    context: Type.Optional(
      Type.Boolean({
        description: "The build waits for its context: `PUT /v1/builds/{id}/context`. Default: false.",
      }),
    ),
    context_digests: Type.Optional(
      Type.Record(
        Type.String({ minLength: 1, maxLength: 4_095 }),
        Type.String({ pattern: "^[0-9a-f]{64}$" }),
        {
          maxProperties: BUILD_STEPS_MAX,
          description:
            "What the context will hold, by the paths that `copy` names, `.` for all of it, and no others: with it the build begins behind the steps whose results are cached. docs/templates.md says how a digest is made.",
        },
      ),
    ),
    secrets: Type.Optional(
      Type.Array(
        Type.Object(
          {
            name: Type.String({ ...SecretName, description: "Name of the secret." }),
            as: Type.Optional(
              Type.String({
                ...SecretName,
                description: "The `id` of the mount; default: the name of the secret.",
              }),
            ),
          },
          closed,
        ),
        {
          maxItems: VM_SECRETS_MAX,
          description:
            "Secrets of the organization for `RUN --mount=type=secret,id=NAME` of the Dockerfile. Each step gets their versions of its moment; no layer, no key of the cache and no row has them. Needs the scope `secrets:read` as well.",
        },
      ),
    ),
    no_cache: Type.Optional(
      Type.Boolean({ description: "Carry out every step, also where its result is cached. Default: false." }),
    ),
    env: Type.Optional(Env),
    user: Type.Optional(User),
    workdir: Type.Optional(Path),
    start: Type.Optional(TemplateStart),
    sizes: Type.Optional(
      Type.Array(Type.String({ maxLength: 100 }), {
        minItems: 1,
        maxItems: 4,
        description:
          "Sizes to freeze now, none with more vCPUs or memory than the size of the build; others are frozen when they are first used. Default: `shared-cpu-1x`.",
      }),
    ),
    size: Type.Optional(
      Type.String({ maxLength: 100, description: "Of the microVM that builds. Default: `shared-cpu-4x`." }),
    ),
    egress: Type.Optional(EgressRequest),
    timeout: Type.Optional(
      Type.String({ ...Duration, description: "Of the whole build. Default: `30m`, at most `2h`." }),
    ),
    step_timeout: Type.Optional(
      Type.String({ ...Duration, description: "Of each step. Default: as long as the build has." }),
    ),
  },
  {
    name: "web",
    tag: "42",
    from: "base",
    steps: [{ run: "apt-get update && apt-get install -y nginx" }, { workdir: "/srv" }],
  },
);
export type BuildRequest = Static<typeof BuildRequest>;
