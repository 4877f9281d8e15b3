// What a client of E2B is told so that it comes to a world, and a client of the Connect protocol in binary, as E2B's in Python is one.

import { createClient, type Interceptor } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-node";
import type { DescService } from "@bufbuild/protobuf";
import type { World } from "./world.ts";

export function e2bOptions({ url, token }: Pick<World, "url" | "token">) {
  return {
    apiKey: `e2b_${Buffer.from(token).toString("hex")}`,
    apiUrl: `${url}/e2b`,
    sandboxUrl: `${url}/e2b/sandbox`,
  };
}

export interface E2bSandbox {
  readonly sandboxID: string;
  readonly envdAccessToken: string;
}

/** Our id of the sandbox that E2B's clients call so. */
export const nativeId = (told: string) => `sbx_${told}`;

export async function createE2bSandbox(world: World, body: object = {}): Promise<E2bSandbox> {
  const {
    body: made,
    status,
    text,
  } = await world.call<E2bSandbox>("POST", "/e2b/sandboxes", {
    body: { templateID: "base", timeout: 300, ...body },
  });
  if (status !== 201) throw new Error(text);
  return made;
}

/** The headers of a call into it. */
export function headersInto({ sandboxID, envdAccessToken }: E2bSandbox): Record<string, string> {
  return {
    "e2b-sandbox-id": sandboxID,
    "e2b-sandbox-port": "49983",
    "x-access-token": envdAccessToken,
  };
}

export function rpcClient<Service extends DescService>(
  { url }: Pick<World, "url">,
  service: Service,
  { sandbox, isBinary = true }: { readonly sandbox: E2bSandbox; readonly isBinary?: boolean },
) {
  const intoSandbox: Interceptor = (next) => (request) => {
    for (const [name, value] of Object.entries(headersInto(sandbox))) request.header.set(name, value);
    return next(request);
  };
  const transport = createConnectTransport({
    ...{ baseUrl: `${url}/e2b/sandbox`, httpVersion: "1.1", useBinaryFormat: isBinary },
    interceptors: [intoSandbox],
  });
  return createClient(service, transport);
}
