// ⌘K: pages by name, resources by id, sandboxes and machines by the beginning of their name.

import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { skerry } from "../api.ts";
import { go } from "../router.ts";
import { may } from "../session.ts";
import { versionName } from "../templates/version-name.ts";
import { Dialog } from "./dialog.tsx";
import { places } from "./keys.ts";
import { isPaletteOpen } from "./open-dialogs.ts";

interface Target {
  readonly name: string;
  readonly hint: string;
  readonly to: string;
}

const pages: readonly Target[] = [
  ...Object.entries(places).map(([key, [to, name]]) => ({ name, hint: `g ${key}`, to })),
  { name: "New sandbox", hint: "form", to: "/sandboxes/new" },
  { name: "New machine", hint: "form", to: "/machines/new" },
  { name: "New build", hint: "form", to: "/builds/new" },
];
const FOUND_MAX = 8;
/** The newest, among which those are that a name means. */
const BUILDS_READ = 100;
const TYPED_MS = 150;

export function Palette() {
  return (
    <Dialog label="Jump to" isOpen={isPaletteOpen}>
      <Choices />
    </Dialog>
  );
}

function Choices() {
  const text = useSignal("");
  const found = useSignal<readonly Target[]>([]);
  const at = useSignal(0);
  useEffect(() => {
    const stop = new AbortController();
    const timer = setTimeout(async () => {
      found.value = await find(text.value.trim(), stop.signal).catch(() => []);
    }, TYPED_MS);
    return () => {
      clearTimeout(timer);
      stop.abort();
    };
  }, [text.value]);
  const wanted = text.value.trim().toLowerCase();
  const targets = [...pages.filter(({ name }) => name.toLowerCase().includes(wanted)), ...found.value];
  const chosen = Math.min(at.value, targets.length - 1);
  const choose = (target: Target | undefined) => {
    if (target === undefined) return;
    isPaletteOpen.value = false;
    go(target.to);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === "ArrowDown") at.value = Math.min(chosen + 1, targets.length - 1);
    else if (event.key === "ArrowUp") at.value = Math.max(chosen - 1, 0);
    else if (event.key === "Enter") choose(targets[chosen]);
    else return;
    event.preventDefault();
  };
  return (
    <>
      <input
        role="combobox"
        aria-label="Page, name or id"
        aria-expanded="true"
        aria-controls="palette-list"
        aria-activedescendant={targets.length === 0 ? undefined : `palette-${chosen}`}
        placeholder="Page, name or id"
        value={text.value}
        onInput={(event) => {
          text.value = event.currentTarget.value;
          at.value = 0;
        }}
        onKeyDown={onKeyDown}
      />
      <ul id="palette-list" role="listbox" aria-label="Where to">
        {targets.map((target, index) => (
          <li
            key={target.to}
            id={`palette-${index}`}
            role="option"
            aria-selected={index === chosen}
            onClick={() => choose(target)}
          >
            {target.name} <span class="muted">{target.hint}</span>
          </li>
        ))}
      </ul>
    </>
  );
}

async function find(text: string, signal: AbortSignal): Promise<readonly Target[]> {
  if (text === "") return [];
  const query = { q: text, limit: FOUND_MAX } as const;
  const [sandboxes, machines, templates, builds] = await Promise.all([
    may("sandboxes:read") ? skerry.sandboxes.page({ ...query, alive: true }, { signal }) : { items: [] },
    may("machines:read") ? skerry.machines.page(query, { signal }) : { items: [] },
    may("templates:read") ? skerry.templates.list({ signal }) : [],
    may("templates:read") ? skerry.builds.page({ limit: BUILDS_READ }, { signal }) : { items: [] },
  ]);
  return [
    ...sandboxes.items.map(({ id, info }) => ({
      name: info.name ?? id,
      hint: "sandbox",
      to: `/sandboxes/${id}`,
    })),
    ...machines.items.map(({ id, name }) => ({ name: name ?? id, hint: "machine", to: `/machines/${id}` })),
    ...templates
      .map((one) => ({ id: one.id, name: versionName(one), hint: "template", to: `/templates/${one.id}` }))
      .filter(begins(text))
      .slice(0, FOUND_MAX),
    ...builds.items
      .map((one) => ({
        id: one.id,
        name: `${one.name}:${one.tag}`,
        hint: `build ${one.status}`,
        to: `/builds/${one.id}`,
      }))
      .filter(begins(text))
      .slice(0, FOUND_MAX),
  ];
}

const begins =
  (text: string) =>
  ({ id, name }: { readonly id: string; readonly name: string }) =>
    id.startsWith(text) || name.startsWith(text);
