// Written by setup/write-clients.ts from the declarations of the API's operations. Do not edit.

import type { Template, TemplateList, TemplateTagRequest } from "@skerry/contract/templates/template";
import { followResource } from "../events/follow-resource.ts";
import { waitForStatus, type Status, type WaitOptions } from "../events/wait-for-status.ts";
import type { CallOptions, HttpClient } from "../http/http.ts";
import { segment } from "../http/paths.ts";

export class GeneratedTemplates {
  protected readonly http: HttpClient;

  constructor(http: HttpClient) {
    this.http = http;
  }

  /**
   * List templates. What sandboxes and machines are made of: the built-in templates, and then the
   * organization's own versions, newest first.
   *
   * Needs the scope `templates:read`.
   */
  async list(options: CallOptions = {}): Promise<Template[]> {
    return (await this.http.json<TemplateList>({ method: "GET", path: "/v1/templates" }, options)).items;
  }

  /**
   * Get a template. By name, `NAME:TAG`, `NAME@DIGEST` or id. A name alone means the tag `latest`.
   *
   * Needs the scope `templates:read`.
   *
   * Errors of its own: `template_not_found`.
   */
  get(template: string, options: CallOptions = {}): Promise<Template> {
    return this.http.json<Template>({ method: "GET", path: `/v1/templates/${segment(template)}` }, options);
  }

  /**
   * Prepare a template. Has every host that is online make the image of a built-in template now,
   * also where it is made on demand or its last attempt failed. The template says how that goes.
   *
   * Needs the scope `hosts:write`.
   *
   * Errors of its own: `template_not_found`, `host_unavailable`, `host_draining`.
   */
  prepare(template: string, options: CallOptions = {}): Promise<Template> {
    return this.http.json<Template>(
      { method: "POST", path: `/v1/templates/${segment(template)}/prepare` },
      options,
    );
  }

  /**
   * Delete a template. A version of the organization's own, with all its tags. Templates that were
   * built on it stay; what was made of it has to be destroyed first.
   *
   * Needs the scope `templates:write`.
   *
   * Errors of its own: `template_not_found`, `template_in_use`.
   */
  async delete(template: string, options: CallOptions = {}): Promise<void> {
    await this.http.done({ method: "DELETE", path: `/v1/templates/${segment(template)}` }, options);
  }

  /**
   * Tag a template. Has a tag of a name mean another version of that name. What runs already stays
   * what it is. A version has at most 100 tags.
   *
   * Needs the scope `templates:write`.
   *
   * Errors of its own: `template_not_found`, `too_many_tags`.
   */
  tag(name: string, tag: string, request: TemplateTagRequest, options: CallOptions = {}): Promise<Template> {
    return this.http.json<Template>(
      { method: "PUT", path: `/v1/templates/${segment(name)}/tags/${segment(tag)}`, json: request },
      options,
    );
  }

  /**
   * Remove a tag of a template. The version that it meant stays, also where it has no tag any more:
   * its id finds it.
   *
   * Needs the scope `templates:write`.
   *
   * Errors of its own: `template_not_found`.
   */
  async untag(name: string, tag: string, options: CallOptions = {}): Promise<void> {
    await this.http.done(
      { method: "DELETE", path: `/v1/templates/${segment(name)}/tags/${segment(tag)}` },
      options,
    );
  }

  /** Gives the template as it is now, and again with each change of it, until `signal` aborts. */
  follow(template: string, options: CallOptions = {}): AsyncGenerator<Template, void> {
    return followResource(
      this.http,
      "template",
      { id: template, read: (id, own) => this.get(id, own) },
      options,
    );
  }

  /**
   * Resolves when its `status` is `until`, or one of them. Throws `SkerryStatusError` where it has
   * ended in another one.
   */
  wait(template: string, until: Status<Template>, options: WaitOptions = {}): Promise<Template> {
    return waitForStatus("template", { id: template, read: (id, own) => this.get(id, own) }, until, options);
  }
}
