import type { Scope } from "@skerry/sdk";
import { href, path } from "../router.ts";
import { may } from "../session.ts";

interface Entry {
  readonly to: string;
  readonly name: string;
  readonly needs?: Scope;
}

const groups: readonly (readonly [string, readonly Entry[]])[] = [
  [
    "Run",
    [
      { to: "/", name: "Overview" },
      { to: "/apps", name: "Apps", needs: "apps:read" },
      { to: "/sandboxes", name: "Sandboxes", needs: "sandboxes:read" },
      { to: "/machines", name: "Machines", needs: "machines:read" },
      { to: "/snapshots", name: "Snapshots" },
      { to: "/templates", name: "Templates", needs: "templates:read" },
      { to: "/builds", name: "Builds", needs: "templates:read" },
    ],
  ],
  [
    "Platform",
    [
      { to: "/hosts", name: "Hosts", needs: "hosts:read" },
      { to: "/services", name: "Background services", needs: "metrics:read" },
      { to: "/audit", name: "Audit log", needs: "audit:read" },
    ],
  ],
  ["Organization", [{ to: "/organization", name: "Members and limits", needs: "org:read" }]],
];

export function Sidebar() {
  return (
    <nav class="sidebar" aria-label="Pages">
      {groups.map(([name, entries]) => (
        <div key={name}>
          <p class="label">{name}</p>
          <ul>
            {entries.map((entry) => (
              <li key={entry.to}>
                <Link {...entry} />
              </li>
            ))}
          </ul>
        </div>
      ))}
    </nav>
  );
}

/** What one has no right to see is there, and says which right it is. */
function Link({ to, name, needs }: Entry) {
  if (needs !== undefined && !may(needs))
    return (
      <span class="faint" title={`Needs the scope ${needs}.`}>
        {name}
      </span>
    );
  const isHere = to === "/" ? path.value === "/" : path.value === to || path.value.startsWith(`${to}/`);
  return (
    <a href={href(to)} {...(isHere ? { "aria-current": "page" as const } : {})}>
      {name}
    </a>
  );
}
