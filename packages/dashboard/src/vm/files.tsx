// What is on its disk, directory by directory. Nothing of a guest is ever rendered: a file is shown as text, or saved.

import { useSignal } from "@preact/signals";
import type { DirectoryEntry } from "@skerry/sdk";
import { useLoaded } from "../live/use-loaded.ts";
import { href, path as place } from "../router.ts";
import { Action } from "../ui/action.tsx";
import { Failure } from "../ui/failure.tsx";
import { Loading } from "../ui/page.tsx";
import { Panel } from "../ui/panel.tsx";
import { bytesText } from "../ui/text.ts";
import { When } from "../ui/when.tsx";
import type { VmKind } from "./vm-kind.ts";
import { downloadRequest, removeRequest, shownDirectory, uploadRequest } from "./vm-requests.ts";

/** A page that shows more would be slow to draw. */
const SHOWN_MAX_BYTES = 256 * 1024;
const SAVED_MAX_BYTES = 256 * 1024 * 1024;

interface FilesProps {
  readonly vm: VmKind;
  readonly id: string;
}

export function Files({ vm, id }: FilesProps) {
  const directory = shownDirectory();
  const read = useLoaded(`files ${id} ${directory}`, (signal) =>
    vm.calls.files(id).list(directory, { signal }),
  );
  const entries = read.value?.entries.toSorted(byKindAndName) ?? [];
  return (
    <Panel title="Files" actions={<Upload {...{ vm, id, directory }} done={read.reload} />}>
      <Crumbs directory={directory} />
      {read.error !== undefined && <Failure error={read.error} retry={read.reload} />}
      {read.value === undefined && read.error === undefined && <Loading />}
      {read.value?.truncated === true && <p class="reason">There are more than are shown here.</p>}
      {read.value !== undefined && entries.length === 0 && <p class="muted">The directory is empty.</p>}
      <ul class="plain">
        {entries.map((entry) => (
          <Entry
            key={entry.name}
            {...{ vm, id, entry, at: below(directory, entry.name) }}
            done={read.reload}
          />
        ))}
      </ul>
    </Panel>
  );
}

function Crumbs({ directory }: { readonly directory: string }) {
  const parts = directory.split("/").filter((part) => part !== "");
  return (
    <nav aria-label="Directory">
      <a href={addressOf("/")}>/</a>
      {parts.map((part, index) => (
        <span key={index}>
          <a href={addressOf(`/${parts.slice(0, index + 1).join("/")}`)}>{part}</a>/
        </span>
      ))}
    </nav>
  );
}

interface EntryProps extends FilesProps {
  readonly entry: DirectoryEntry;
  readonly at: string;
  readonly done: () => void;
}

function Entry({ vm, id, entry, at, done }: EntryProps) {
  const shown = useSignal<string | undefined>(undefined);
  const isFile = entry.type === "file";
  const show = async () => {
    const bytes = await vm.calls.download(id, at, { maxBytes: SHOWN_MAX_BYTES });
    shown.value = new TextDecoder().decode(bytes);
  };
  return (
    <li>
      {entry.type === "directory" ? <a href={addressOf(at)}>{entry.name}/</a> : <code>{entry.name}</code>}{" "}
      {entry.target !== undefined && <span class="muted">→ {entry.target} </span>}
      <span class="muted">
        {isFile && `${bytesText(entry.size)} · `}
        {entry.mode} {entry.owner} · <When at={entry.modified} />
      </span>{" "}
      {isFile && entry.size <= SHOWN_MAX_BYTES && (
        <Action label="Show" of={entry.name} needs={vm.executeScope} run={show} request={null} />
      )}{" "}
      {isFile && (
        <Action
          label="Save"
          of={entry.name}
          needs={vm.executeScope}
          request={downloadRequest(vm, id, at)}
          run={() => save(vm, id, at)}
        />
      )}{" "}
      <Action
        label="Remove"
        of={entry.name}
        request={removeRequest(vm, id, { file: at, recursive: entry.type === "directory" })}
        danger
        needs={vm.executeScope}
        confirm={`${at} is lost${entry.type === "directory" ? ", with all that is in it" : ""}.`}
        run={async () => {
          await vm.calls.files(id).remove(at, { recursive: entry.type === "directory" });
          done();
        }}
      />
      {shown.value !== undefined && (
        <pre class="log" tabIndex={0} aria-label={at}>
          {shown.value}
        </pre>
      )}
    </li>
  );
}

/** Through memory, because the session's cookie must not be in an address. */
async function save(vm: VmKind, id: string, at: string): Promise<void> {
  const bytes = await vm.calls.download(id, at, { maxBytes: SAVED_MAX_BYTES });
  const url = URL.createObjectURL(new Blob([bytes], { type: "application/octet-stream" }));
  const link = document.createElement("a");
  link.href = url;
  link.download = at.split("/").at(-1) ?? "file";
  link.click();
  URL.revokeObjectURL(url);
}

interface UploadProps extends FilesProps {
  readonly directory: string;
  readonly done: () => void;
}

function Upload({ vm, id, directory, done }: UploadProps) {
  const chosen = useSignal<File | undefined>(undefined);
  const file = chosen.value;
  return (
    <div class="actions">
      <label>
        <span class="muted">Upload </span>
        <input type="file" onChange={(event) => (chosen.value = event.currentTarget.files?.[0])} />
      </label>
      {file !== undefined && (
        <Action
          label={`Upload ${file.name}`}
          needs={vm.executeScope}
          request={uploadRequest(vm, id, { local: file.name, file: below(directory, file.name) })}
          run={async () => {
            await vm.calls.upload(id, below(directory, file.name), file);
            chosen.value = undefined;
            done();
          }}
        />
      )}
    </div>
  );
}

function addressOf(directory: string): string {
  return href(`${place.value}?path=${encodeURIComponent(directory)}`);
}

function below(directory: string, name: string): string {
  return directory === "/" ? `/${name}` : `${directory}/${name}`;
}

function byKindAndName(one: DirectoryEntry, other: DirectoryEntry): number {
  const kinds = Number(other.type === "directory") - Number(one.type === "directory");
  return kinds === 0 ? one.name.localeCompare(other.name) : kinds;
}
