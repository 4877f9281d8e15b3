// What the compiler asks of a declaration. `npm run check` compiles this file, and fails where one of these errors is none any more.

import { Type } from "typebox";
import { expect, test } from "vitest";
import { named } from "@skerry/contract/named";
import type { Operation, Operations } from "../src/api/operation.ts";
import { routes } from "../src/api/routes.ts";
import { namedSchemasIn } from "../src/http/schemas.ts";

const Island = named("Island", { name: Type.String() }, { name: "Skerryvore" });

const whole = {
  surface: "v1",
  method: "GET",
  path: "/v1/island",
  tag: "platform",
  summary: "The island",
  answers: { 200: Island },
  access: { scope: null, role: "viewer", rate: "read" },
  audit: { action: "host.get", resource: "island" },
  errors: [],
} as const satisfies Operation;

type Without<Part extends keyof typeof whole> = Omit<typeof whole, Part> extends Operation ? Part : never;
type WithAccess<Access> = Omit<typeof whole, "access"> & { access: Access } extends Operation
  ? Access
  : never;

/** Of each part: that a declaration without it is none. */
const needed: { [Part in keyof typeof whole]: [Without<Part>] extends [never] ? "needed" : "optional" } = {
  surface: "needed",
  method: "needed",
  path: "needed",
  tag: "needed",
  summary: "needed",
  answers: "needed",
  access: "needed",
  audit: "needed",
  errors: "needed",
};

test("an operation that lacks a part does not compile", () => {
  expect(Object.keys(needed)).toEqual(Object.keys(whole));
  // @ts-expect-error: one that needs a token needs a role.
  const withoutRole: WithAccess<{ scope: null; rate: "read" }> = { scope: null, rate: "read" };
  // @ts-expect-error: the same of the class of its rate.
  const withoutRate: WithAccess<{ scope: null; role: "viewer" }> = { scope: null, role: "viewer" };
  const unnamed = {
    island: {
      ...whole,
      answers: { 200: Type.Object({ name: Type.String() }) },
    },
  } as const;
  // @ts-expect-error: what it answers has no name, and so no example.
  const withoutExample: Operations = unnamed;
  // @ts-expect-error: an example that its schema refuses.
  const Odd = named("Odd", { name: Type.String() }, { nam: "Skerryvore" });
  const unheardOf = { ...whole, audit: { action: "island.get", resource: "island" } } as const;
  // @ts-expect-error: an action that no reader of the audit log can ask for.
  const unknownAction: Operation = unheardOf;
  expect([withoutRole, withoutRate, withoutExample, Odd, unknownAction]).toHaveLength(5);
});

test("an operation without a handler, or with one that answers something else, does not compile", () => {
  const group = { getIsland: whole };
  routes(group, () => ({ getIsland: () => ({ name: "Skerryvore" }) }));
  // @ts-expect-error: no handler.
  routes(group, () => ({}));
  // @ts-expect-error: another answer.
  routes(group, () => ({ getIsland: () => ({ depth: 1 }) }));
  expect(namedSchemasIn([group]).get("Island")).toBe(Island);
});

test("two schemas that have one name are found", () => {
  const other = named("Island", { depth: Type.Integer() }, { depth: 1 });
  expect(() => namedSchemasIn([Island, [other]])).toThrow("two schemas have the name Island");
});
