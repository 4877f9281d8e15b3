// Requests of the plain operations for the dashboard to copy, with the call of the TypeScript client.

import { clientMethods } from "./client-methods.ts";

const HEAD = `// Written by setup/write-clients.ts from the declarations of the API's operations. Do not edit.

export interface ApiRequest {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** With \`{name}\` for each parameter. */
  readonly path: string;
  /** Method of the TypeScript client. */
  readonly call: string;
  /** Name for an item where the method gives one after the other. */
  readonly item?: string;
}

`;

/** Text of the module. */
export function dashboardRequests(): string {
  const entries = clientMethods.map(({ answer, collection, method, name, operationId, path }) => {
    const request = {
      ...{ method, path, call: collection === undefined ? name : `${collection}.${name}` },
      ...(answer.kind === "page" && { item: lastWord(answer.item.$id ?? name) }),
    };
    return `  ${operationId}: ${JSON.stringify(request)},\n`;
  });
  return `${HEAD}export const requests = {\n${entries.join("")}} as const satisfies Readonly<Record<string, ApiRequest>>;\n`;
}

/** `AuditEvent` is an `event`. */
function lastWord(name: string): string {
  return (/[A-Z]?[a-z]+$/.exec(name)?.[0] ?? name).toLowerCase();
}
