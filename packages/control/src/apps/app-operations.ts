import { Type } from "typebox";
import { App, AppCreateRequest, AppList, AppUpdateRequest } from "@skerry/contract/apps/app";
import { Deploy, DeployList } from "@skerry/contract/apps/deploy";
import { DeployCreateRequest, ReleaseList } from "@skerry/contract/apps/release";
import { PageQuery } from "@skerry/contract/page";
import type { IdOf, Operations } from "../api/operation.ts";
import { creationErrors, largeBuild } from "../builds/build-operations.ts";
import { appIdOf } from "./app-rows.ts";

const idOf: IdOf = appIdOf;
const path = { params: Type.Object({ id: Type.String({ description: "Id or name of the app." }) }), idOf };
const deployPath = {
  params: Type.Object({
    id: Type.String({ description: "Id or name of the app." }),
    deploy: Type.String({ description: "Id of the deploy." }),
  }),
  idOf,
};

const read = { scope: "apps:read", role: "viewer", rate: "read" } as const;
const write = { scope: "apps:write", role: "member", rate: "write" } as const;
const expensive = { ...write, rate: "expensive" } as const;

export const appOperations = {
  createApp: {
    surface: "v1",
    method: "POST",
    path: "/v1/apps",
    tag: "apps",
    summary: "Create an app",
    description: "It runs nothing before its first deploy.",
    body: AppCreateRequest,
    answers: { 201: App },
    access: expensive,
    audit: { action: "app.create", resource: "app" },
    errors: ["name_taken", "quota_exceeded"],
  },
  listApps: {
    surface: "v1",
    method: "GET",
    path: "/v1/apps",
    tag: "apps",
    summary: "List apps",
    description: "Those of the organization, newest first.",
    query: PageQuery,
    answers: { 200: AppList },
    access: read,
    audit: { action: "app.list", resource: "app" },
    errors: [],
  },
  getApp: {
    surface: "v1",
    method: "GET",
    path: "/v1/apps/:id",
    tag: "apps",
    summary: "Get an app",
    description: "With its last deploy, and its instances.",
    ...path,
    answers: { 200: App },
    access: read,
    audit: { action: "app.get", resource: "app" },
    errors: ["app_not_found"],
  },
  updateApp: {
    surface: "v1",
    method: "PATCH",
    path: "/v1/apps/:id",
    tag: "apps",
    summary: "Change an app",
    description: "A scale is carried out at once, with instances of the release that is live.",
    ...path,
    body: AppUpdateRequest,
    answers: { 200: App },
    access: write,
    audit: { action: "app.update", resource: "app" },
    errors: ["app_not_found", "app_deleting"],
  },
  deleteApp: {
    surface: "v1",
    method: "DELETE",
    path: "/v1/apps/:id",
    tag: "apps",
    summary: "Delete an app",
    description:
      "Its instances finish the requests that they have, and end; then it is gone, with its releases.",
    ...path,
    answers: { 200: App },
    access: write,
    audit: { action: "app.delete", resource: "app" },
    errors: ["app_not_found"],
  },
  createDeploy: {
    surface: "v1",
    method: "POST",
    path: "/v1/apps/:id/deploys",
    client: "apps.deploy",
    tag: "apps",
    summary: "Deploy a release",
    description:
      "Makes the next release, and brings instances of it in the place of those before, which go on serving until the new ones have passed their checks. What the request leaves out is that of the release before, or of `release`. A deploy that is under way is superseded. With secrets it needs `secrets:read` as well.",
    ...path,
    body: DeployCreateRequest,
    largeBody: largeBuild,
    answers: { 201: Deploy },
    access: expensive,
    audit: { action: "app.deploy", resource: "deploy" },
    errors: [
      "app_not_found",
      "app_deleting",
      "release_not_found",
      "template_not_found",
      "invalid_manifest",
      "invalid_env",
      ...creationErrors.filter((code) => code !== "name_taken"),
    ],
  },
  listDeploys: {
    surface: "v1",
    method: "GET",
    path: "/v1/apps/:id/deploys",
    client: "apps.deploys",
    tag: "apps",
    summary: "List deploys of an app",
    description: "Newest first. Those before the last hundred are forgotten.",
    ...path,
    query: PageQuery,
    answers: { 200: DeployList },
    access: read,
    audit: { action: "deploy.list", resource: "deploy" },
    errors: ["app_not_found"],
  },
  getDeploy: {
    surface: "v1",
    method: "GET",
    path: "/v1/apps/:id/deploys/:deploy",
    client: "apps.getDeploy",
    tag: "apps",
    summary: "Get a deploy",
    ...deployPath,
    answers: { 200: Deploy },
    access: read,
    audit: { action: "deploy.get", resource: "deploy" },
    errors: ["app_not_found", "deploy_not_found"],
  },
  cancelDeploy: {
    surface: "v1",
    method: "POST",
    path: "/v1/apps/:id/deploys/:deploy/cancel",
    client: "apps.cancelDeploy",
    tag: "apps",
    summary: "Cancel a deploy",
    description: "What it has started is ended, and the release before goes on.",
    ...deployPath,
    answers: { 200: Deploy },
    access: write,
    audit: { action: "deploy.cancel", resource: "deploy" },
    errors: ["app_not_found", "deploy_not_found", "deploy_over"],
  },
  listReleases: {
    surface: "v1",
    method: "GET",
    path: "/v1/apps/:id/releases",
    client: "apps.releases",
    tag: "apps",
    summary: "List releases of an app",
    description: "Newest first. Those before the last twenty are forgotten, but for those that run.",
    ...path,
    answers: { 200: ReleaseList },
    access: read,
    audit: { action: "release.list", resource: "app" },
    errors: ["app_not_found"],
  },
} as const satisfies Operations;
