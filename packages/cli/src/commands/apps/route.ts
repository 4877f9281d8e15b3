// `skerry route`: which names and paths lead to which group of an app.

import type { Route, RouteCreateRequest } from "@skerry/sdk";
import type { Command } from "commander";
import type { Cli } from "../../cli.ts";
import { addExamples } from "../../input/options.ts";
import { addDeedCommand, wholeList, type WholeList } from "../resources/resource-commands.ts";

const app: readonly [string, string] = ["<app>", "name or id of the app"];

export function registerRouteCommands(program: Command, cli: Cli): void {
  const route = program
    .command("route")
    .description("Names and paths that lead to groups of an app, beside its own address.");
  addExamples(route, "skerry route create shop --path-prefix /api --group api --strip-prefix");
  addDeedCommand<WholeList<Route>>(route, cli, {
    name: "list",
    description: "List the routes of an app.",
    examples: ["skerry route list shop"],
    argument: app,
    act: ({ apps }, name, options) => wholeList(apps.routes(name, options)),
    print: ({ items }) =>
      cli.output.table(
        ["ID", "HOST", "PATH", "GROUP", "MANNER"],
        items.map((one) => [one.id, one.host ?? "-", one.path_prefix, one.group, mannerOf(one)]),
      ),
  });
  addDeedCommand<Route>(route, cli, {
    name: "create",
    description: "Lead a name below the app's own, or the beginning of a path, to a group.",
    examples: [
      "skerry route create shop --path-prefix /api --group api --strip-prefix",
      "skerry route create shop --host api.shop.localhost --group api --rate-limit 50 --concurrency 20",
    ],
    argument: app,
    operation: "createRoute",
    // The server says which field is missing.
    act: ({ apps }, name, options, fields) =>
      apps.createRoute(name, fields as unknown as RouteCreateRequest, options),
    print: ({ id }) => cli.output.line(id),
  });
  const remove = route
    .command("delete")
    .description("Delete a route.")
    .argument(...app)
    .argument("<route>", "id of the route")
    .action(async (name: string, id: string, _flags: object, self: Command) => {
      const client = await cli.client(self);
      await client.apps.deleteRoute(name, id, { signal: cli.signal });
      await cli.output.line(`${id} deleted`);
    });
  addExamples(remove, "skerry route delete shop rte_01jd3...");
}

function mannerOf({ port, strip_prefix, sticky, rate_limit, concurrency }: Route): string {
  const manners = [
    ...(port === null ? [] : [`port ${port}`]),
    ...(strip_prefix ? ["without the prefix"] : []),
    ...(sticky ? ["sticky"] : []),
    ...(rate_limit === null ? [] : [`${rate_limit} requests/s`]),
    ...(concurrency === null ? [] : [`${concurrency} at once`]),
  ];
  return manners.join(", ") || "-";
}
