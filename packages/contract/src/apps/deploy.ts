// A deploy: the way from one release of an app to another.

import { Type, type Static } from "typebox";
import { errorStatus, type ErrorCode } from "../errors.ts";
import { exampleIds } from "../example-ids.ts";
import { Nullable, OneOf, Timestamp } from "../fields.ts";
import { named } from "../named.ts";
import { pageOf } from "../page.ts";
import { deployStatuses } from "./deploy-status.ts";

const DeployReason = Type.Unsafe<{
  code: ErrorCode;
  message: string;
  instance: string | null;
  exit_code: number | null;
  last_lines: string[];
} | null>({
  type: ["object", "null"],
  additionalProperties: false,
  required: ["code", "message", "instance", "exit_code", "last_lines"],
  description: "Why it failed.",
  properties: {
    code: { type: "string", enum: Object.keys(errorStatus) },
    message: { type: "string" },
    instance: {
      type: ["string", "null"],
      description: "The machine that failed it. It is kept until the next deploy, with its log.",
    },
    exit_code: { type: ["integer", "null"] },
    last_lines: {
      type: "array",
      items: { type: "string" },
      description: "The end of what the instance, or the step of the build, has printed.",
    },
  },
});

export const Deploy = named(
  "Deploy",
  {
    id: Type.String(),
    app_id: Type.String(),
    release: Type.Integer({ description: "Number of the release that it brings." }),
    status: OneOf(deployStatuses, {
      description:
        "`building`: its template is built. `releasing`: its release command runs. `switching`: the first instances of the release serve. `draining`: all do, and those before go on with the requests that they have. `superseded`: a later deploy took its place. `rolled_back`: it was live, failed while it was watched, and the release before is deployed again.",
    }),
    build_id: Nullable(
      Type.String({ description: "The build of its template, which may wait for its context." }),
    ),
    reason: DeployReason,
    created_by: Nullable(
      Type.String({ description: "The user who deployed; null: it is a rollback by itself." }),
    ),
    created_at: Timestamp,
    ends_by: {
      ...Timestamp,
      description: "When its `timeout` is over, which begins anew once its build is ready.",
    },
    finished_at: Nullable(Timestamp),
  },
  {
    id: exampleIds.deploy,
    app_id: exampleIds.app,
    release: 42,
    status: "checking",
    build_id: exampleIds.build,
    reason: null,
    created_by: exampleIds.user,
    created_at: "2026-11-20T16:41:08.123Z",
    ends_by: "2026-11-20T16:46:08.123Z",
    finished_at: null,
  },
);
export type Deploy = Static<typeof Deploy>;

export const DeployList = pageOf(Deploy, "DeployList");
