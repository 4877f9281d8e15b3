import * as fc from "fast-check";
import { expect, test } from "vitest";
import { Value } from "typebox/value";
import { ErrorResponse } from "@skerry/contract/error-response";
import { errorFromBody, errorStatus, SkerryError, type ErrorCode } from "@skerry/contract/errors";

const codes = Object.keys(errorStatus) as ErrorCode[];

test("an error of any code is the same after a trip over the wire", () => {
  const details = fc.record(
    { remediation: fc.string(), context: fc.dictionary(fc.string(), fc.oneof(fc.string(), fc.boolean())) },
    { requiredKeys: [] },
  );
  fc.assert(
    fc.property(fc.constantFrom(...codes), fc.string(), details, (code, message, given) => {
      const sent = new SkerryError(code, message, given);
      const wire: unknown = JSON.parse(JSON.stringify(sent.toBody("req_1")));
      expect(Value.Check(ErrorResponse, wire)).toBe(true);
      const read = errorFromBody(wire, "nothing readable came");
      expect(read.toBody("req_1")).toEqual(wire);
      expect(read.status).toBe(sent.status);
    }),
  );
});

test("the cause of an error never goes over the wire", () => {
  const error = new SkerryError("internal", "The host failed.", { cause: new Error("password is hunter2") });
  expect(JSON.stringify(error.toBody())).toBe('{"code":"internal","message":"The host failed."}');
});

test.each([
  ["nothing", undefined],
  ["null", null],
  ["text", "<html>502 Bad Gateway</html>"],
  ["a list", [{ code: "not_found", message: "m" }]],
  ["a code that does not exist", { code: "teapot", message: "m" }],
  ["a code that every object has", { code: "constructor", message: "m" }],
  ["a code that is a number", { code: 404, message: "m" }],
  ["no message", { code: "not_found" }],
  ["a message that is an object", { code: "not_found", message: {} }],
])("a body that is %s is read as an internal error with the fallback message", (_what, body) => {
  expect(errorFromBody(body, "fallback").toBody()).toEqual({ code: "internal", message: "fallback" });
});

test("details of a foreign shape are dropped from an error that is otherwise readable", () => {
  const body = { code: "not_found", message: "m", remediation: 7, context: "text" };
  expect(errorFromBody(body, "fallback").toBody()).toEqual({ code: "not_found", message: "m" });
});

test("every code has an HTTP status for errors", () => {
  for (const code of codes)
    expect(errorStatus[code]).toSatisfy((status: number) => status >= 400 && status < 600);
});
