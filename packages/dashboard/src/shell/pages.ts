// Every page: where it is, and the file that it is in. A page exports `View`, which is given the `:name` parts of its address.

import type { ComponentType } from "preact";
import type { Params } from "../router.ts";

export interface PageModule {
  readonly View: ComponentType<{ readonly params: Params }>;
}

export const pages: Readonly<Record<string, () => Promise<PageModule>>> = {
  "/": () => import("../pages/overview.tsx"),
  "/apps": () => import("../pages/apps.tsx"),
  "/apps/:id": () => import("../pages/app.tsx"),
  "/sandboxes": () => import("../pages/sandboxes.tsx"),
  "/sandboxes/new": () => import("../pages/new-sandbox.tsx"),
  "/sandboxes/:id": () => import("../pages/sandbox.tsx"),
  "/sandboxes/:id/:tab": () => import("../pages/sandbox.tsx"),
  "/machines": () => import("../pages/machines.tsx"),
  "/machines/new": () => import("../pages/new-machine.tsx"),
  "/machines/:id": () => import("../pages/machine.tsx"),
  "/machines/:id/:tab": () => import("../pages/machine.tsx"),
  "/snapshots": () => import("../pages/snapshots.tsx"),
  "/templates": () => import("../pages/templates.tsx"),
  "/templates/:id": () => import("../pages/template.tsx"),
  "/builds": () => import("../pages/builds.tsx"),
  "/builds/new": () => import("../pages/new-build.tsx"),
  "/builds/new/:way": () => import("../pages/new-build.tsx"),
  "/builds/:id": () => import("../pages/build.tsx"),
  "/hosts": () => import("../pages/hosts.tsx"),
  "/services": () => import("../pages/services.tsx"),
  "/audit": () => import("../pages/audit.tsx"),
  "/organization": () => import("../pages/organization.tsx"),
};
