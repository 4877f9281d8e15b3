import fastify from "fastify";
import { expect, test } from "vitest";
import { hasRole, roles } from "@skerry/contract/organizations/roles";
import { lowestRole, scopes, usableScopes } from "@skerry/contract/organizations/scopes";
import { authorize } from "../src/api/authorize.ts";
import { requireDeclarations } from "../src/api/register-routes.ts";
import { operations, type OperationId } from "../src/app/operations.ts";
import type { Caller } from "../src/caller.ts";
import { documentedOperations } from "./support/api-document.ts";
import { useWorld } from "./support/world.ts";

const world = useWorld();

interface DocumentedOperation {
  readonly operationId: string;
  readonly security?: readonly Readonly<Record<string, readonly string[]>>[];
  readonly "x-required-role"?: string;
}

test("a route that no operation declares keeps the server from starting", () => {
  const app = fastify();
  requireDeclarations(app);
  const add = (name: string, config?: object) =>
    app.get(`/v1/${name}`, { schema: { operationId: name }, ...(config && { config }) }, () => "ok");
  expect(() => add("declared", { skerry: operations.listSizes })).not.toThrow();
  expect(() => add("listSizes")).toThrow("GET /v1/listSizes: no operation declares this route");
  expect(() => add("listSecrets", {})).toThrow("no operation declares this route");
});

test("every operation of the API has a route, and is in the OpenAPI document", () => {
  const document = JSON.parse(JSON.stringify(world.server.app.swagger())) as {
    paths: Record<string, Record<string, DocumentedOperation>>;
  };
  const documented = Object.values(document.paths).flatMap((path) => Object.values(path));
  expect(documented.map(({ operationId }) => operationId).toSorted()).toEqual(
    documentedOperations.map(([id]) => id).toSorted(),
  );
  for (const operation of documented) {
    const { access } = operations[operation.operationId as OperationId];
    if (access === "public") expect(operation.security).toEqual([]);
    else {
      const { scope, orScope } = access;
      const needed = [scope === null ? [] : [scope], ...(orScope === undefined ? [] : [[orScope]])];
      expect(operation.security).toEqual(needed.flatMap((one) => [{ bearer: one }, { apiKey: one }]));
      expect(operation["x-required-role"]).toBe(access.role);
    }
  }
});

test("a call never asks for a lower role than its scope can be used with", () => {
  const declared = Object.entries(operations);
  expect(declared.length).toBeGreaterThan(15);
  for (const [name, { access }] of declared) {
    if (access === "public" || access.scope === null) continue;
    for (const scope of [access.scope, access.orScope ?? access.scope])
      expect(hasRole(access.role, lowestRole[scope]), name).toBe(true);
  }
});

test("a role is a ceiling for every token: each may what those below it may, and a viewer only reads", () => {
  const of = (role: (typeof roles)[number], operator = true) => usableScopes(["*"], { role, operator });
  for (const [index, role] of roles.entries()) {
    const below = roles[index - 1];
    if (below !== undefined) expect([...of(role)]).toEqual(expect.arrayContaining([...of(below)]));
  }
  expect([...of("viewer")].filter((scope) => !scope.endsWith(":read")).toSorted()).toEqual([
    "*",
    "tokens:write",
  ]);
  expect([...of("owner")].toSorted()).toEqual([...scopes].toSorted());
});

test("rights over the platform count in the operator's organization only", () => {
  const elsewhere = usableScopes(["*", "platform:write"], { role: "owner", operator: false });
  for (const scope of ["platform:write", "hosts:write", "hosts:read", "metrics:read"] as const) {
    expect(elsewhere.has(scope), scope).toBe(false);
  }
  expect(elsewhere.has("org:write")).toBe(true);
});

test("the refusal of a call of the operator's names the organization that may, because no scope would help", () => {
  const caller = {
    orgId: "org_1",
    role: "owner",
    scopes: usableScopes(["*"], { role: "owner", operator: false }),
  };
  const call = { scope: "hosts:read", role: "viewer" } as const;
  expect(() => authorize(caller as unknown as Caller, call)).toThrow(
    "only tokens of the operator's organization",
  );
});
