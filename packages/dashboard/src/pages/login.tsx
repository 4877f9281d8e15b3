// A token, or a code of `skerry open`, goes to the server once; what comes back is a cookie that no script can read.

import { useSignal } from "@preact/signals";
import type { Me } from "@skerry/sdk";
import type { LoginCodeOwner, SessionCreateRequest } from "@skerry/contract/organizations/login";
import { useEffect } from "preact/hooks";
import { skerry } from "../api.ts";
import { askedLogin } from "../asked-login.ts";
import { me, session, tellOtherTabs } from "../session.ts";
import { Failure } from "../ui/failure.tsx";

export function Login() {
  const error = useSignal<unknown>(undefined);
  const isBusy = useSignal(false);
  const logIn = async (request: SessionCreateRequest) => {
    isBusy.value = true;
    error.value = undefined;
    try {
      session.value = { state: "open", me: await skerry.logins.create(request) };
      tellOtherTabs();
    } catch (failure) {
      error.value = failure;
    } finally {
      askedLogin.value = undefined;
      isBusy.value = false;
    }
  };
  const current = me.value;
  const asked = askedLogin.value;
  useEffect(() => {
    document.title = "Log in · Skerry";
  }, []);
  const props = { isBusy: isBusy.value, logIn: (request: SessionCreateRequest) => void logIn(request) };
  const refuse = (failure: unknown) => {
    error.value = failure;
    askedLogin.value = undefined;
  };
  return (
    <main class="alone">
      <h1>Skerry</h1>
      {asked === undefined && <TokenForm {...props} />}
      {asked?.code !== undefined && <Question {...{ ...props, code: asked.code, current, refuse }} />}
      {asked?.token !== undefined && <Invitation {...{ ...props, asked, current }} />}
      {error.value !== undefined && <Failure error={error.value} />}
    </main>
  );
}

interface LogInProps {
  readonly isBusy: boolean;
  readonly logIn: (request: SessionCreateRequest) => void;
}

interface QuestionProps extends LogInProps {
  readonly code: string;
  readonly current: Me | null;
  readonly refuse: (failure: unknown) => void;
}

/** No session begins unasked: the address may have come from another person, who would see what is done in
 *  it. */
function Question({ isBusy, logIn, code, current, refuse }: QuestionProps) {
  const owner = useSignal<LoginCodeOwner | undefined>(undefined);
  useEffect(() => {
    skerry.logins.describeCode(code).then((found) => (owner.value = found), refuse);
  }, [code]);
  if (owner.value === undefined) return null;
  const { name, organization_name } = owner.value;
  return (
    <>
      <LoggedInAlready current={current} />
      <p>
        Log in to <strong>{organization_name}</strong> as <strong>{name}</strong>?
      </p>
      <p class="help">
        The address that was opened asks for it. If you did not make it yourself with <code>skerry open</code>
        , another person would see what you do here.
      </p>
      <Answer {...{ isBusy, current }} agree={() => logIn({ code })} />
    </>
  );
}

interface InvitationProps extends LogInProps {
  readonly asked: SessionCreateRequest;
  readonly current: Me | null;
}

/**
 * An invitation ends with its first use, so opening its address is none: programs that look at links open it
 * as well.
 */
function Invitation({ isBusy, logIn, asked, current }: InvitationProps) {
  return (
    <>
      <LoggedInAlready current={current} />
      <p>You are invited to an organization on {location.host}. Log in with the token of the invitation?</p>
      <p class="help">
        The token is yours from then on, also for <code>skerry login</code>. Keep the address as you would
        keep a password. If it did not come from a person whom you trust, that person would see what you do
        here.
      </p>
      <Answer {...{ isBusy, current }} agree={() => logIn(asked)} />
    </>
  );
}

function LoggedInAlready({ current }: { readonly current: Me | null }) {
  if (current === null) return null;
  return (
    <p>
      This browser is logged in as <strong>{current.name}</strong> of{" "}
      <strong>{current.organization_name}</strong>.
    </p>
  );
}

interface AnswerProps {
  readonly isBusy: boolean;
  readonly current: Me | null;
  readonly agree: () => void;
}

function Answer({ isBusy, current, agree }: AnswerProps) {
  return (
    <p class="actions">
      <button type="button" class="primary" disabled={isBusy} onClick={agree}>
        {current === null ? "Log in" : "Log in anew"}
      </button>
      <button type="button" onClick={() => (askedLogin.value = undefined)}>
        {current === null ? "Do not log in" : `Stay logged in as ${current.name}`}
      </button>
    </p>
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
