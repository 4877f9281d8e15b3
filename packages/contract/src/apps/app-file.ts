// `skerry.toml`: an app as its folder describes it. The command line makes of it what the API takes.

import { Type, type Static } from "typebox";
import { COMMAND_MAX_CHARS } from "../bounds.ts";
import { Env } from "../fields.ts";
import { named } from "../named.ts";
import { SecretName } from "../secrets/secret.ts";
import { Scale } from "./app.ts";
import { APP_NAME_PATTERN } from "./app-bounds.ts";
import { Group, manifest, Process, Service } from "./release.ts";

const closed = { additionalProperties: false } as const;
const text = (description: string) => Type.Optional(Type.String({ minLength: 1, description }));

const Build = Type.Object(
  {
    template: text("Template that instances begin with; nothing is built."),
    image: text("Image of a registry that instances begin with; the folder is not read."),
    dockerfile: text("Path of a Dockerfile in the folder. Default: the folder's kind is detected."),
    target: text("Stage of the Dockerfile."),
    args: Type.Optional({ ...Env, description: "`ARG`s of the Dockerfile." }),
    env: Type.Optional({ ...Env, description: "Variables of the build, which instances have as well." }),
    size: text("Size of the microVM that builds."),
  },
  { ...closed, description: "Default: the folder, whose kind is detected." },
);

const { services: _services, processes: _processes, strategy, release_command, ...times } = manifest;

export const AppFile = named(
  "AppFile",
  {
    app: Type.String({ pattern: APP_NAME_PATTERN, description: "Name of the app." }),
    build: Type.Optional(Build),
    processes: Type.Optional(
      Type.Record(Group, Type.Union([Type.String({ minLength: 1, maxLength: COMMAND_MAX_CHARS }), Process]), {
        description:
          "Groups of instances by name: a shell command line, or a table. Default: what is detected in the folder.",
      }),
    ),
    services: Type.Optional(
      Type.Array(
        Type.Object({ ...Service.properties, group: Type.Optional({ ...Group, default: "web" }) }, closed),
        { description: "Groups that take requests. The first one has the app's address." },
      ),
    ),
    env: Type.Optional({ ...Env, description: "Environment of all instances." }),
    secrets: Type.Optional(
      Type.Array(Type.String({ ...SecretName }), {
        description: "Names of secrets that all instances have in their environment.",
      }),
    ),
    size: text("Size of instances whose process says none."),
    scale: Type.Optional(Scale),
    deploy: Type.Optional(Type.Object({ strategy, release_command, ...times }, closed)),
  },
  {
    app: "shop",
    processes: { web: "node server.js" },
    services: [{ port: 8080, check: { path: "/health" } }],
    env: { LOG_LEVEL: "info" },
    scale: { web: 2 },
  },
);
export type AppFile = Static<typeof AppFile>;
