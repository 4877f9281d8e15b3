// Where E2B's clients call into a sandbox without `E2B_SANDBOX_URL`: the port of E2B's own program in it, by the name of that port; and where they call the
// API without `E2B_API_URL`.

export const sandboxPort = {
  port: 49_983,
  path: "/e2b/sandbox",
  idHeader: "e2b-sandbox-id",
  portHeader: "e2b-sandbox-port",
  api: { label: "api", path: "/e2b" },
} as const;

/** All that E2B's clients call; signed URLs of files have no prefix. */
export const e2bPaths = /^\/(?:e2b\/|files(?:\?|$))/;
