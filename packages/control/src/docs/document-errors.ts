// Which errors a call can answer, as the OpenAPI document shows it. Most follow from what a call is; the rest is in its declaration.

import { errorStatus, type ErrorCode } from "@skerry/contract/errors";
import { errorHeaders, isPublic } from "./answer-headers.ts";

type Json = { [key: string]: unknown };

/**
 * Adds an answer for each status of an error, with the codes that it comes with. No route names them: each
 * would cost a serializer at every start, and errors are sent as text. Answers with one code go into `shared`
 * under the code; `shareAnswers` finds the other ones that repeat.
 */
export function documentErrors(operation: Json, own: readonly ErrorCode[], shared: Json): void {
  const answers = { ...(operation["responses"] as Json) };
  const codes = codesOf(operation, own);
  const statuses = new Set(codes.map((code) => errorStatus[code]));
  for (const status of [...statuses].toSorted((a, b) => a - b)) {
    const [first, ...more] = codes.filter((code) => errorStatus[code] === status);
    if (first === undefined) continue;
    const answer = answerOf([first, ...more], operation);
    if (more.length > 0) answers[status] = answer;
    else {
      // Calls without a token are told of no limit.
      const name = isPublic(operation) ? `${first}_public` : first;
      shared[name] = answer;
      answers[status] = referenceTo(name);
    }
  }
  operation["responses"] = answers;
}

/**
 * Puts each error answer that several operations have into `shared`, under the id of the first of them and
 * the status: `createSandbox_409`. Half of the document would be repeated answers otherwise.
 */
export function shareAnswers(operations: readonly Json[], shared: Json): void {
  const errors = operations.flatMap((operation) => {
    const answers = operation["responses"] as Json;
    return Object.entries(answers).flatMap(([status, answer]) =>
      Number(status) < 400 || Object.hasOwn(answer as Json, "$ref")
        ? []
        : [
            {
              name: `${String(operation["operationId"])}_${status}`,
              answers,
              status,
              text: JSON.stringify(answer),
            },
          ],
    );
  });
  for (const same of Map.groupBy(errors, ({ text }) => text).values()) {
    const [first, ...more] = same;
    if (first === undefined || more.length === 0) continue;
    shared[first.name] = first.answers[first.status];
    for (const { answers, status } of same) answers[status] = referenceTo(first.name);
  }
}

function referenceTo(name: string): Json {
  return { $ref: `#/components/responses/${name}` };
}

function codesOf(operation: Json, own: readonly ErrorCode[]): ErrorCode[] {
  const bodies = Object.keys(((operation["requestBody"] as Json | undefined)?.["content"] as Json) ?? {});
  const parameters = (operation["parameters"] ?? []) as Json[];
  const creates = Object.hasOwn(operation["responses"] as Json, "201");
  const codes: readonly (ErrorCode | false)[] = [
    ...everywhere,
    ...(isPublic(operation) ? [] : withToken),
    ...(bodies.includes("application/json") ? withJson : []),
    ...(creates ? withKey : []),
    ...(parameters.some(({ name }) => name === "If-Match") ? withVersion : []),
    parameters.some((parameter) => parameter["in"] === "query") && "unknown_field",
    parameters.some((parameter) => parameter["in"] === "path") && "invalid_path",
    ...own,
  ];
  return [...new Set(codes.filter((code) => code !== false))];
}

const everywhere: readonly ErrorCode[] = [
  "bad_request",
  "unsupported_media_type",
  "headers_too_large",
  "internal",
  "shutting_down",
];
const withToken: readonly ErrorCode[] = [
  "unauthorized",
  "forbidden",
  "organization_not_found",
  "rate_limited",
  "database_unavailable",
];
const withJson: readonly ErrorCode[] = ["unknown_field", "request_timeout", "payload_too_large"];
const withVersion: readonly ErrorCode[] = ["version_mismatch"];
const withKey: readonly ErrorCode[] = ["idempotency_conflict", "idempotency_in_progress"];

function answerOf(codes: readonly ErrorCode[], operation: Json): Json {
  const names = codes.map((code) => `\`${code}\``).join(", ");
  const schema = {
    allOf: [{ $ref: "#/components/schemas/Error" }, { properties: { code: { enum: codes } } }],
  };
  const headers = errorHeaders(codes, operation);
  return {
    description: `${names}.`,
    ...(headers && { headers }),
    content: { "application/json": { schema } },
  };
}
