// What is around every page, and which page it is.

import { computed, useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { Login } from "../pages/login.tsx";
import { pages, type PageModule } from "./pages.ts";
import { loadPart } from "../load-part.ts";
import { askedLogin } from "../asked-login.ts";
import { matchPath, path, type Params } from "../router.ts";
import { readSession, session } from "../session.ts";
import { Failure } from "../ui/failure.tsx";
import { Empty, Loading, Page } from "../ui/page.tsx";
import { KeyList } from "./key-list.tsx";
import { Palette } from "./palette.tsx";
import { Sidebar } from "./sidebar.tsx";
import { TopBar } from "./top-bar.tsx";

export function App() {
  const error = useSignal<unknown>(undefined);
  const read = () => {
    error.value = undefined;
    readSession().catch((failure: unknown) => (error.value = failure));
  };
  useEffect(read, []);
  if (error.value !== undefined)
    return (
      <main class="alone">
        <h1>Skerry</h1>
        <Failure error={error.value} retry={read} />
      </main>
    );
  const { state } = session.value;
  if (state === "loading") return null;
  if (state === "none" || askedLogin.value !== undefined) return <Login />;
  return (
    <>
      <a class="skip" href="#content">
        Skip to the content
      </a>
      <TopBar />
      <div class="below">
        <Sidebar />
        <main id="content">
          <Current />
        </main>
      </div>
      <Palette />
      <KeyList />
    </>
  );
}

interface Match {
  readonly pattern: string;
  readonly load: () => Promise<PageModule>;
  readonly params: Params;
}

const match = computed<Match | undefined>(() => {
  for (const [pattern, load] of Object.entries(pages)) {
    const params = matchPath(pattern, path.value);
    if (params !== undefined) return { pattern, load, params };
  }
  return undefined;
});

function Current() {
  const loaded = useSignal<{ readonly pattern: string; readonly module: PageModule } | undefined>(undefined);
  const error = useSignal<unknown>(undefined);
  const found = match.value;
  useEffect(() => {
    if (found === undefined) return;
    error.value = undefined;
    loadPart(found.load).then(
      (module) => (loaded.value = { pattern: found.pattern, module }),
      // After an upgrade its file has another name, which only a page that is read anew knows.
      (failure: unknown) => (error.value = failure),
    );
  }, [found?.pattern]);
  if (found === undefined)
    return (
      <Page title="There is no such page" name="Not found">
        <Empty what="The address leads nowhere. ⌘K finds pages, names and ids." />
      </Page>
    );
  if (error.value !== undefined)
    return (
      <Page title="This page cannot be loaded" name="Not loaded">
        <Failure error={error.value} retry={() => location.reload()} />
      </Page>
    );
  if (loaded.value?.pattern !== found.pattern) return <Loading />;
  const { View } = loaded.value.module;
  return <View key={found.params["id"] ?? found.pattern} params={found.params} />;
}
