import { Type } from "typebox";
import {
  AppLogLine,
  AppLogReset,
  AppLogs,
  AppLogsQuery,
  AppLogsSynced,
} from "@skerry/contract/apps/app-logs";
import type { IdOf, Operations } from "../../api/operation.ts";
import { appIdOf } from "../app-rows.ts";

const idOf: IdOf = appIdOf;
const path = { params: Type.Object({ id: Type.String({ description: "Id or name of the app." }) }), idOf };
const read = { scope: "apps:read", role: "viewer", rate: "read" } as const;

export const appLogOperations = {
  getAppLogs: {
    surface: "v1",
    method: "GET",
    path: "/v1/apps/:id/logs",
    tag: "apps",
    summary: "Read the log of an app",
    description:
      "What its instances have printed, by time. Their hosts keep it for a week after an instance is gone: that of the last 50 of an app, and on each host 64 MiB of an organization.\n\n" +
      "With `follow=true` the answer is a stream of server-sent events: `line` with an `AppLogLine`, first the last `lines` and then each as it comes, also " +
      "of instances that start, and of those that end to their last line; those of one instance are in their order, and all nearly by time. `synced` with an `AppLogsSynced` comes after the last lines, and every 15 s. The stream " +
      "ends with a `reset` with an `AppLogReset` where the server does, with `end` where the app is gone, or with one `error` with an `Error`. With " +
      "`after` a later stream has each line once, unless the hosts have none any more. It holds a place of the app, and one of each instance that it reads, among the streams of the organization.",
    ...path,
    query: AppLogsQuery,
    answers: { 200: AppLogs },
    events: [AppLogLine, AppLogsSynced, AppLogReset],
    access: read,
    audit: { action: "app.logs", resource: "app" },
    errors: ["app_not_found", "deploy_not_found", "secrets_unavailable", "too_many_streams"],
  },
} as const satisfies Operations;
