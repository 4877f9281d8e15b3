// What the dashboard has to copy of each plain operation: its request, and the call of the TypeScript client.

import { clientMethods, singular } from "./client-methods.ts";

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
      ...(answer.kind === "page" && { item: singular(name === "list" ? (collection ?? "") : name) }),
    };
    return `  ${operationId}: ${JSON.stringify(request)},\n`;
  });
  return `${HEAD}export const requests = {\n${entries.join("")}} as const satisfies Readonly<Record<string, ApiRequest>>;\n`;
}
