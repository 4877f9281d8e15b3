// What to do about an error, in the words of the command line. The server's are for authors of requests.

/** Whole remedies, by the code of the error. */
const byCode: Readonly<Record<string, string>> = {
  unauthorized:
    "Give a valid token: `skerry login` saves one, SKERRY_API_TOKEN or --token names one, and `skerry up` on the server's machine makes one.",
  sandbox_expired:
    "Create one with a longer --timeout, or run `skerry sandbox keepalive ID` before its time is over.",
  organization_not_found: "`skerry org list` lists yours; without --org a command is for the token's own.",
};

/** Calls of the API, and the command that makes each. */
const commands: readonly (readonly [call: string, command: string])[] = [
  ["GET /v1/auth/me", "skerry auth whoami"],
  ["GET /v1/auth/tokens", "skerry auth token list"],
  ["POST /v1/auth/tokens", "skerry auth token create"],
  ["GET /v1/orgs", "skerry org list"],
  ["GET /v1/status", "skerry status"],
  ["GET /v1/limits", "skerry org limits"],
  ["GET /v1/hosts", "skerry host list"],
  ["GET /v1/templates", "skerry template list"],
  ["GET /v1/sizes", "skerry size list"],
  ["GET /v1/sandboxes", "skerry sandbox list"],
  ["GET /v1/machines", "skerry machine list"],
  ["GET /v1/apps", "skerry app list"],
  ["GET /v1/apps/{id}/releases", "skerry app releases APP"],
  ["GET /v1/apps/{id}/routes", "skerry route list APP"],
  ["GET /v1/audit", "skerry audit list"],
  ["GET /v1/snapshots", "skerry snapshot list"],
  ["GET /v1/builds", "skerry build list"],
  ["GET /v1/moves", "skerry move list"],
  ["GET /v1/background-services", "skerry background-service list"],
  ["GET /v1/executions", "skerry runs list"],
  ["GET /v1/builds/{id}", "skerry build show ID"],
  ["GET /v1/sandboxes/{id}/ports", "skerry sandbox ports ID"],
  ["GET /v1/machines/{id}/ports", "skerry machine ports ID"],
  ["POST /v1/sandboxes/{id}/executions", "skerry sandbox exec ID --detach -- COMMAND"],
  ["POST /v1/machines/{id}/executions", "skerry machine exec ID --detach -- COMMAND"],
  ["DELETE /v1/auth/tokens/{id}", "skerry auth token revoke ID"],
  ["GET /v1/openapi.json", "skerry --help"],
];

/** Fields and headers, and what stands for them on a command line. */
const flags: readonly (readonly [field: string, flag: string])[] = [
  ["`X-Org-ID`", "--org"],
  ["`scopes`", "--scope"],
  ["`user_id`", "--user"],
  ["`bound`", "--bound"],
  ["`expires_in`", "--expires-in"],
  ["`stop_timeout`", "--stop-timeout"],
  ["`autostop.idle`", "--autostop"],
  ["`new_disk`", "--new-disk"],
];

/** The server's remedy for an error of this code, reworded. */
export function remedyOf(code: string, remedy: string | undefined): string | undefined {
  const whole = Object.hasOwn(byCode, code) ? byCode[code] : undefined;
  if (whole !== undefined || remedy === undefined) return whole;
  const withCommands = remedy.replaceAll(
    /`((?:GET|POST|PUT|PATCH|DELETE) \/v1[^`]*)`/g,
    (_quoted, call: string) => {
      const command = commands.find(([known]) => known === call)?.[1];
      // A newer server may name a call that this table does not have.
      return command === undefined ? "the API (see its /docs)" : `\`${command}\``;
    },
  );
  return flags.reduce((text, [field, flag]) => text.replaceAll(field, flag), withCommands);
}
