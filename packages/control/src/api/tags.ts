// What operations belong to, in the order in which people look for them. The OpenAPI document and its page have the same order.

export const tags = [
  {
    name: "sandboxes",
    description: "Short-lived microVMs: run commands in them, move files, decide what they may reach.",
  },
  { name: "snapshots", description: "Moments of sandboxes, to begin at and to go back to." },
  { name: "machines", description: "MicroVMs that keep running, and keep their disk." },
  { name: "apps", description: "Releases of a program, with instances behind an address." },
  { name: "templates", description: "What microVMs are made of, and in which sizes." },
  { name: "secrets", description: "Values that are written and never read." },
  { name: "events", description: "What changes, as it changes." },
  { name: "tokens", description: "Who is calling, and what else may call." },
  { name: "organizations", description: "What everything belongs to: members, settings and limits." },
  { name: "audit", description: "Who did what." },
  { name: "hosts", description: "The machines that microVMs run on." },
  { name: "platform", description: "How the control plane is, and its documents." },
] as const satisfies readonly { readonly name: string; readonly description: string }[];

export type Tag = (typeof tags)[number]["name"];
