// A token, or a code of `skerry open`, goes to the server once; what comes back is a cookie that no script can read.

import { useSignal } from "@preact/signals";
import type { Me } from "@skerry/sdk";
import type { SessionCreateRequest } from "@skerry/contract/organizations/session";
import { useEffect } from "preact/hooks";
import { skerry } from "../api.ts";
import { loginCode } from "../login-code.ts";
import { me, session, tellOtherTabs } from "../session.ts";
import { Failure } from "../ui/failure.tsx";

export function Login() {
  const error = useSignal<unknown>(undefined);
  const isBusy = useSignal(false);
  const logIn = async (request: SessionCreateRequest) => {
    isBusy.value = true;
    error.value = undefined;
    try {
      session.value = { state: "open", me: await skerry.sessions.create(request) };
      tellOtherTabs();
    } catch (failure) {
      error.value = failure;
    } finally {
      loginCode.value = undefined;
      isBusy.value = false;
    }
  };
  const current = me.value;
  const code = loginCode.value;
  useEffect(() => {
    document.title = "Log in · Skerry";
    // A session that is open is not replaced unasked: the address may have come from another person.
    if (code !== undefined && current === null) void logIn({ code });
  }, []);
  const props = { isBusy: isBusy.value, logIn: (request: SessionCreateRequest) => void logIn(request) };
  return (
    <main class="alone">
      <h1>Skerry</h1>
      {code !== undefined && current !== null ? (
        <LogInAnew {...{ ...props, code, current }} />
      ) : (
        <TokenForm {...props} />
      )}
      {error.value !== undefined && <Failure error={error.value} />}
    </main>
  );
}

interface LogInProps {
  readonly isBusy: boolean;
  readonly logIn: (request: SessionCreateRequest) => void;
}

function LogInAnew({ isBusy, logIn, code, current }: LogInProps & { code: string; current: Me }) {
  return (
    <>
      <p>
        This browser is logged in as <strong>{current.name}</strong> of{" "}
        <strong>{current.organization_name}</strong>. The address that was opened logs it in anew.
      </p>
      <p class="actions">
        <button type="button" class="primary" disabled={isBusy} onClick={() => logIn({ code })}>
          Log in anew
        </button>
        <button type="button" onClick={() => (loginCode.value = undefined)}>
          Stay logged in as {current.name}
        </button>
      </p>
    </>
  );
}

function TokenForm({ isBusy, logIn }: LogInProps) {
  const token = useSignal("");
  const submit = (event: Event) => {
    event.preventDefault();
    logIn({ token: token.value.trim() });
  };
  return (
    <form onSubmit={submit}>
      <label for="token">API token</label>
      <input
        id="token"
        type="password"
        autocomplete="off"
        required
        value={token.value}
        onInput={(event) => (token.value = event.currentTarget.value)}
      />
      <p class="help">
        <code>skerry open</code> logs in without it, and <code>skerry auth token</code> mints one. This
        browser keeps it for no longer than the login takes: its session is a token of its own that ends after
        12 hours.
      </p>
      <button type="submit" class="primary" disabled={isBusy || token.value === ""}>
        Log in
      </button>
    </form>
  );
}
