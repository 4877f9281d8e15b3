// Operations of the SDK on what a sandbox reaches and what reaches it, and the parts of E2B that have no counterpart.

import { holds, same } from "./operation.ts";
import { withSandbox, type SdkContext, type SdkOperation } from "./sdk.ts";

type Counterpartless = readonly [
  area: string,
  name: string,
  covers: string | undefined,
  call: (context: SdkContext) => Promise<unknown>,
];

/** Parts of E2B that have no counterpart here. */
const withoutCounterpart: readonly Counterpartless[] = [
  ["Volumes", "create", "static Volume.create", ({ sdk, options }) => sdk.Volume.create("one", options)],
  ["Volumes", "connect", "static Volume.connect", ({ sdk, options }) => sdk.Volume.connect("one", options)],
  ["Volumes", "get", "static Volume.getInfo", ({ sdk, options }) => sdk.Volume.getInfo("one", options)],
  ["Volumes", "list", "static Volume.list", ({ sdk, options }) => sdk.Volume.list(options)],
  ["Volumes", "destroy", "static Volume.destroy", ({ sdk, options }) => sdk.Volume.destroy("one", options)],
  ["Volumes", "create a sandbox with `volumeMounts`", undefined, withVolume],
  [
    "Secrets",
    "create",
    "static Secret.create",
    ({ sdk, options }) => sdk.Secret.create("one", "value", options),
  ],
  [
    "Secrets",
    "update",
    "static Secret.update",
    ({ sdk, options }) => sdk.Secret.update("one", "value", options),
  ],
  ["Secrets", "get", "static Secret.getInfo", ({ sdk, options }) => sdk.Secret.getInfo("one", options)],
  ["Secrets", "list", "static Secret.list", ({ sdk, options }) => sdk.Secret.list(options).nextItems()],
  ["Secrets", "exists", "static Secret.exists", ({ sdk, options }) => sdk.Secret.exists("one", options)],
  ["Secrets", "destroy", "static Secret.destroy", ({ sdk, options }) => sdk.Secret.destroy("one", options)],
  ["Secrets", "create a sandbox with `iam`", undefined, withIam],
];

function counterpartless(): readonly SdkOperation[] {
  return withoutCounterpart.map(([area, name, covers, call]) => {
    const pages = covers === "static Secret.list" ? ["SecretPaginator.nextItems"] : [];
    return {
      ...{ area, name, covers: covers === undefined ? [] : [covers, ...pages] },
      async attempt(context) {
        await call(context);
      },
    };
  });
}

function withVolume(context: SdkContext): Promise<unknown> {
  return withSandbox(context, { volumeMounts: { "/data": "one" } }, async () => undefined);
}

function withIam(context: SdkContext): Promise<unknown> {
  const tokens = { one: { audience: "example.com", tokenType: "JWT-SVID" } };
  return withSandbox(context, { iam: { tokens } }, async () => undefined);
}

export const networkOperations: readonly SdkOperation[] = [
  {
    ...{ area: "Network", name: "create with `allowInternetAccess: false`" },
    covers: [],
    attempt: (context) =>
      withSandbox(context, { allowInternetAccess: false }, async (made) =>
        same((await made.getInfo()).allowInternetAccess, false),
      ),
  },
  {
    ...{ area: "Network", name: "create with `denyOut`, and `allowOut` with a domain" },
    covers: [],
    async attempt(context) {
      const network = { allowOut: ["example.com"], denyOut: [context.sdk.ALL_TRAFFIC] };
      await withSandbox(context, { network }, async (made) => {
        const { allowOut, denyOut } = (await made.getInfo()).network ?? {};
        same({ allowOut, denyOut }, network);
      });
    },
  },
  {
    ...{ area: "Network", name: "change the network of a sandbox that runs" },
    covers: ["Sandbox.updateNetwork", "static SandboxApi.updateNetwork"],
    attempt: (context) =>
      withSandbox(context, {}, async (made) => {
        const { Sandbox } = context.sdk;
        await made.updateNetwork({ denyOut: ["10.9.0.0/16"] });
        same((await made.getInfo()).network?.denyOut, ["10.9.0.0/16"]);
        await Sandbox.updateNetwork(made.sandboxId, { denyOut: ["10.8.0.0/16"] }, context.options);
        same((await made.getInfo()).network?.denyOut, ["10.8.0.0/16"]);
      }),
  },
  {
    ...{ area: "Network", name: "create with `network.rules`" },
    covers: [],
    attempt: (context) =>
      withSandbox(
        context,
        { network: { rules: { "example.com": [{ transform: { headers: { "x-a": "b" } } }] } } },
        async () => undefined,
      ),
  },
  {
    ...{ area: "Network", name: "create with `network.egressProxy`" },
    covers: [],
    attempt: (context) =>
      withSandbox(
        context,
        { network: { egressProxy: { address: "proxy.example.com:1080" } } },
        async () => undefined,
      ),
  },
  {
    ...{ area: "Network", name: "the host name of a port" },
    covers: ["Sandbox.getHost"],
    async attempt({ sandbox }) {
      same(sandbox.getHost(8000), `8000-${sandbox.sandboxId}.${sandbox.sandboxDomain}`);
    },
  },
  ...counterpartless(),
  {
    ...{ area: "MCP", name: "create with `mcp`" },
    covers: ["Sandbox.getMcpUrl", "Sandbox.getMcpToken"],
    async attempt({ sdk, options }) {
      const made = await sdk.Sandbox.create({ ...options, mcp: { duckduckgo: {} }, timeoutMs: 600_000 });
      holds(made.getMcpUrl().endsWith("/mcp"), "its URL ends with /mcp");
      holds((await made.getMcpToken()) !== undefined, "it has a token");
      await made.kill();
    },
  },
];
