import { skerry } from "../api.ts";
import { liveness } from "../live/live.ts";
import { href } from "../router.ts";
import { isReplaced } from "../served-version.ts";
import { themes } from "../saved-theme.ts";
import { me, readSession, tellOtherTabs } from "../session.ts";
import { chooseTheme, theme } from "../theme.ts";
import { clockText } from "../ui/text.ts";
import { isPaletteOpen } from "./open-dialogs.ts";

export function TopBar() {
  const nextTheme = themes[(themes.indexOf(theme.value) + 1) % themes.length] ?? "system";
  return (
    <header class="top-bar">
      <a class="brand" href={href("/")}>
        Skerry
      </a>
      <span class="muted">{me.value?.organization_name}</span>
      <Live />
      {isReplaced.value && (
        <button type="button" onClick={() => location.reload()}>
          New version: reload
        </button>
      )}
      <span class="gap" />
      <button type="button" onClick={() => (isPaletteOpen.value = true)}>
        Jump to… <kbd>⌘K</kbd>
      </button>
      <button
        type="button"
        aria-label={`Theme: ${theme.value}. Change to ${nextTheme}.`}
        onClick={() => chooseTheme(nextTheme)}
      >
        ◐ {theme.value}
      </button>
      <span class="who">{me.value?.name}</span>
      <button
        type="button"
        onClick={() => void skerry.logins.end().finally(readSession).finally(tellOtherTabs)}
      >
        Log out
      </button>
    </header>
  );
}

/** What the server has said, not what a connection looks like. */
function Live() {
  const found = liveness.value;
  if (found === null) return <span class="faint">connecting</span>;
  if (found.isLive) return <span class="live">● live</span>;
  const since = found.sinceMs === null ? "" : ` since ${clockText(found.sinceMs)}`;
  return (
    <strong class="not-live" role="status">
      ▲ not live{since}
    </strong>
  );
}
