// Refuses a filter that can find nothing: without this a misspelt action looks like one that was never done.

import { auditActions, isAuditAction } from "@skerry/contract/audit/audit-actions";
import { SkerryError } from "@skerry/contract/errors";
import { editDistance } from "@skerry/contract/edit-distance";

export function checkAction(text: string): void {
  if (isAuditAction(text)) return;
  throw new SkerryError("bad_request", `"${text}" is not an action of the audit log.`, {
    remediation: remedyFor(text),
    context: { field: "action", value: text },
  });
}

const TYPING_ERRORS_MAX = 2;

function remedyFor(text: string): string {
  const [close] = auditActions
    .map((action) => ({ action, distance: editDistance(text, action) }))
    .filter(({ distance }) => distance <= TYPING_ERRORS_MAX)
    .toSorted((one, other) => one.distance - other.distance);
  if (close !== undefined) return `Did you mean "${close.action}"?`;
  const [noun = ""] = text.split(".");
  const ofNoun = auditActions.filter((action) => action.startsWith(`${noun}.`));
  return `Use one of ${(ofNoun.length > 0 ? ofNoun : auditActions).join(", ")}.`;
}
