// Where E2B's clients call into a sandbox without `E2B_SANDBOX_URL`: the port of E2B's own program in it, by the name of that port.

export const sandboxPort = {
  port: 49_983,
  path: "/e2b/sandbox",
  idHeader: "e2b-sandbox-id",
  portHeader: "e2b-sandbox-port",
} as const;
