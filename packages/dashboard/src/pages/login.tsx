// The token goes to the server once; what comes back is a cookie that no script can read.

import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { skerry } from "../api.ts";
import { session } from "../session.ts";
import { Failure } from "../ui/failure.tsx";

export function Login() {
  const token = useSignal("");
  const error = useSignal<unknown>(undefined);
  const isBusy = useSignal(false);
  useEffect(() => void (document.title = "Log in · Skerry"), []);
  const logIn = async (event: Event) => {
    event.preventDefault();
    isBusy.value = true;
    error.value = undefined;
    try {
      const me = await skerry.sessions.create({ token: token.value.trim() });
      token.value = "";
      session.value = { state: "open", me };
    } catch (failure) {
      error.value = failure;
    } finally {
      isBusy.value = false;
    }
  };
  return (
    <main class="alone">
      <h1>Skerry</h1>
      <form onSubmit={(event) => void logIn(event)}>
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
          <code>skerry auth token</code> mints one. This browser keeps it for no longer than the login takes:
          its session is a token of its own that ends after 12 hours.
        </p>
        <button type="submit" class="primary" disabled={isBusy.value || token.value === ""}>
          Log in
        </button>
      </form>
      {error.value !== undefined && <Failure error={error.value} />}
    </main>
  );
}
