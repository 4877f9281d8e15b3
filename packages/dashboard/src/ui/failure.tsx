// What has gone wrong, with all that a person needs to mend it or to report it.

import { SkerryApiError } from "@skerry/sdk";
import { Copy } from "./copy.tsx";

interface Told {
  readonly code: string;
  readonly message: string;
  readonly remediation?: string | undefined;
  readonly requestId?: string | undefined;
}

export function Failure({ error, retry }: { readonly error: unknown; readonly retry?: () => void }) {
  const { code, message, remediation, requestId } = told(error);
  const whole = [message, remediation, `code ${code}`, requestId && `request ${requestId}`];
  return (
    <div class="failure" role="alert">
      <p>
        <strong>{message}</strong>
      </p>
      {remediation !== undefined && <p>{remediation}</p>}
      <p class="muted">
        <code>{code}</code>
        {requestId !== undefined && (
          <>
            {" · request "}
            <code>{requestId}</code>
          </>
        )}
        <Copy text={whole.filter(Boolean).join("\n")} label="the error" />
        {retry !== undefined && (
          <button type="button" onClick={retry}>
            Try again
          </button>
        )}
      </p>
    </div>
  );
}

function told(error: unknown): Told {
  if (error instanceof SkerryApiError) return error;
  if (!(error instanceof Error)) return { code: "unknown", message: String(error) };
  const { message, code = "unexpected", remediation } = error as Error & Partial<Told>;
  return { code, message, remediation };
}
