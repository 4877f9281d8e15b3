// A release: all that an app's instances run from. It never changes.

import { Type, type Static } from "typebox";
import { BuildRequest } from "../builds/build-request.ts";
import { COMMAND_MAX_CHARS, TEMPLATE_REFERENCE_MAX_CHARS } from "../bounds.ts";
import { checkRequest } from "../checks/health-check.ts";
import { formatDuration } from "../durations.ts";
import { exampleIds } from "../example-ids.ts";
import { Duration, Env, Nullable, OneOf, Timestamp } from "../fields.ts";
import { named } from "../named.ts";
import { pageOf } from "../page.ts";
import { DEFAULT_SIZE } from "../sizes.ts";
import { secretsRequest } from "../vms/secrets.ts";
import {
  CANARY_HOLD_DEFAULT_MS,
  CANARY_PERCENT_DEFAULT,
  DEPLOY_TIMEOUT_DEFAULT_MS,
  DEPLOY_TIMEOUT_MAX_MS,
  DRAIN_TIMEOUT_DEFAULT_MS,
  DRAIN_TIMEOUT_MAX_MS,
  GROUP_PATTERN,
  GROUPS_MAX,
  WATCH_DEFAULT_MS,
  WATCH_MAX_MS,
} from "./app-bounds.ts";
import { deployStrategies } from "./deploy-status.ts";

const closed = { additionalProperties: false } as const;
export const Group = Type.String({ pattern: GROUP_PATTERN });

export const Process = Type.Object(
  {
    command: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: COMMAND_MAX_CHARS,
        description:
          "Shell command line of the main process. Default: that of the image that the template was made of; without one the instance runs what its template has running.",
      }),
    ),
    size: Type.Optional(
      Type.String({ maxLength: 100, default: DEFAULT_SIZE, description: "A name from `GET /v1/sizes`." }),
    ),
  },
  closed,
);

export const Service = Type.Object(
  {
    group: Group,
    port: Type.Integer({ minimum: 1, maximum: 65_535 }),
    protocol: Type.Optional(
      OneOf(["http", "h2", "tcp"], {
        default: "http",
        description:
          "How its server is spoken to. `h2`: HTTP/2 without TLS, as gRPC has it. `tcp`: connections come as they are, on a port of hosts that the app keeps; routes do not lead to it.",
      }),
    ),
    check: Type.Optional({
      ...checkRequest,
      description:
        "When an instance gets requests, and goes on getting them. Default: `GET /`; with `h2` and `tcp`, that the port takes connections. Its `port` is that of the service, its `interval` 2s, and its `grace` 2m, unless they are given.",
    }),
  },
  closed,
);

/** Fields about processes, the same in a request and in an answer. */
export const manifest = {
  processes: Type.Optional(
    Type.Record(Group, Process, {
      maxProperties: GROUPS_MAX,
      description: "Groups of instances that are alike, by name. Default: `web` alone.",
    }),
  ),
  services: Type.Optional(
    Type.Array(Service, {
      maxItems: GROUPS_MAX,
      description:
        "Groups that take requests, at most one port of each. The first one that speaks HTTP has the app's address. Default: none.",
    }),
  ),
  release_command: Type.Optional(
    Nullable(Type.String({ minLength: 1, maxLength: COMMAND_MAX_CHARS }), {
      description:
        "Shell command line that runs once for each deploy, in a microVM of its own with the release's environment, before an instance is started. The deploy fails where it does not exit with 0. Null: none.",
    }),
  ),
  strategy: Type.Optional(
    OneOf(deployStrategies, {
      default: "rolling",
      description:
        "`rolling`: one instance more than the scale at a time. `bluegreen`: all instances of the release serve at once, when all are well. `canary`: a part of them serves beside all of the release before for a while, and then as `rolling`. `immediate`: all serve as soon as they run, also where a check fails.",
    }),
  ),
  canary: Type.Optional(
    Type.Object(
      {
        percent: Type.Optional(
          Type.Integer({
            minimum: 1,
            maximum: 99,
            default: CANARY_PERCENT_DEFAULT,
            description: "Part of each group's instances, rounded up.",
          }),
        ),
        hold: Type.Optional(
          Type.String({
            ...Duration,
            default: formatDuration(CANARY_HOLD_DEFAULT_MS),
            description: "How long they serve beside the release before, shorter than `timeout`.",
          }),
        ),
      },
      {
        ...closed,
        description: "Of the strategy `canary`. The deploy fails where one of them ends or fails its check.",
      },
    ),
  ),
  drain_timeout: Type.Optional(
    Type.String({
      ...Duration,
      default: formatDuration(DRAIN_TIMEOUT_DEFAULT_MS),
      description: `How long an instance that is replaced may go on with requests that it has, at most ${formatDuration(DRAIN_TIMEOUT_MAX_MS)}.`,
    }),
  ),
  watch: Type.Optional(
    Type.String({
      ...Duration,
      default: formatDuration(WATCH_DEFAULT_MS),
      description: `How long after it is live the release before is deployed again, where an instance ends or fails its check; at most ${formatDuration(WATCH_MAX_MS)}, \`0s\` for not at all.`,
    }),
  ),
  timeout: Type.Optional(
    Type.String({
      ...Duration,
      default: formatDuration(DEPLOY_TIMEOUT_DEFAULT_MS),
      description: `How long the whole deploy may take, at most ${formatDuration(DEPLOY_TIMEOUT_MAX_MS)}.`,
    }),
  ),
};
export const Manifest = Type.Object(manifest, closed);
export type Manifest = Static<typeof Manifest>;

const {
  name: _name,
  tag: _tag,
  more_tags: _moreTags,
  start: _start,
  ...buildFields
} = BuildRequest.properties;
/** Instances run a command of the release: what is frozen with a template does not see the environment. */
const AppBuild = Type.Object(buildFields, {
  ...closed,
  description:
    "Build of a template that belongs to the app, as templates are built. With `context` the deploy waits until the context of its build (`build_id`) is sent.",
});

export const DeployCreateRequest = named(
  "DeployCreateRequest",
  {
    template: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: TEMPLATE_REFERENCE_MAX_CHARS,
        description:
          "Template that the instances begin with. One of `template`, `image`, `build` and `release` is needed.",
      }),
    ),
    image: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 1_000,
        description: "Image of a registry that the instances begin with, the same as `build.image`.",
      }),
    ),
    build: Type.Optional(AppBuild),
    release: Type.Optional(
      Type.Integer({
        minimum: 1,
        description:
          "Number of an earlier release, whose template, environment and processes are taken over.",
      }),
    ),
    env: Type.Optional({
      ...Env,
      description: "Environment of all instances. Default: that of the release before.",
    }),
    env_changes: Type.Optional(
      Type.Record(Type.String(), Nullable(Type.String()), {
        description:
          "Variables that are set beside those of `env`, or of the release before, and those that wait for the deploy; null takes one away.",
      }),
    ),
    secrets: Type.Optional(secretsRequest),
    ...manifest,
  },
  {
    template: "shop:42",
    processes: { web: { command: "node server.js" } },
    services: [{ group: "web", port: 8080, check: { path: "/health", port: 8080 } }],
  },
);
export type DeployCreateRequest = Static<typeof DeployCreateRequest>;

export const Release = named(
  "Release",
  {
    number: Type.Integer({ minimum: 1 }),
    template: Nullable(
      Type.String({
        description:
          "Id of the template's version, or the name of a built-in one. Null: it was never built to its end.",
      }),
    ),
    variables: Type.Array(Type.String(), { description: "Names of the environment's variables." }),
    secrets: Type.Array(Type.String(), { description: "Names of the secrets that instances get." }),
    manifest: Manifest,
    created_by: Nullable(Type.String({ description: "The user who deployed it." })),
    created_at: Timestamp,
  },
  {
    number: 42,
    template: exampleIds.template,
    variables: ["LOG_LEVEL"],
    secrets: [],
    manifest: {
      processes: { web: { command: "node server.js" } },
      services: [{ group: "web", port: 8080 }],
    },
    created_by: exampleIds.user,
    created_at: "2026-11-20T16:41:08.123Z",
  },
);
export type Release = Static<typeof Release>;

/** Newest first; the cursor is unused, because few are kept. */
export const ReleaseList = pageOf(Release, "ReleaseList");
