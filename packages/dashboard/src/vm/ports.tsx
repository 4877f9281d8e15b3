// What listens in it, and the ways in: an address that needs no token for a while, or a port that is open to all.

import { useSignal } from "@preact/signals";
import type { Port, SignedUrl } from "@skerry/sdk";
import { useLoaded } from "../live/use-loaded.ts";
import { Action } from "../ui/action.tsx";
import { Copy } from "../ui/copy.tsx";
import { Failure } from "../ui/failure.tsx";
import { Loading } from "../ui/page.tsx";
import { Panel } from "../ui/panel.tsx";
import { When } from "../ui/when.tsx";
import type { VmKind } from "./vm-kind.ts";
import { portRequest, portUrlRequest } from "./vm-requests.ts";

const LOOK_EVERY_MS = 5_000;
const URL_FOR = "10m";

interface PortsProps {
  readonly vm: VmKind;
  readonly id: string;
}

export function Ports({ vm, id }: PortsProps) {
  const { value, error, reload } = useLoaded(`ports ${id}`, (signal) => vm.calls.ports(id, { signal }), {
    everyMs: LOOK_EVERY_MS,
  });
  if (value === undefined)
    return error === undefined ? <Loading /> : <Failure error={error} retry={reload} />;
  return (
    <Panel title="Ports">
      {value.items.length === 0 && <p class="muted">Nothing listens, and no port is public.</p>}
      <ul class="plain">
        {value.items.map((port) => (
          <PortLine key={port.port} {...{ vm, id, port }} done={reload} />
        ))}
      </ul>
    </Panel>
  );
}

interface PortLineProps extends PortsProps {
  readonly port: Port;
  readonly done: () => void;
}

function PortLine({ vm, id, port, done }: PortLineProps) {
  const signed = useSignal<SignedUrl | undefined>(undefined);
  const isPublic = port.public;
  return (
    <li>
      <strong>{port.port}</strong> {port.process ?? (port.listening ? "listens" : "nothing listens")}{" "}
      <span class="muted">
        {port.addresses.join(", ")}
        {isPublic && " · open to all"}
      </span>{" "}
      <Action
        label="Address for 10 minutes"
        of={`of ${port.port}`}
        request={portUrlRequest(vm, id, { port: port.port, expiresIn: URL_FOR })}
        needs={vm.executeScope}
        run={async () => (signed.value = await vm.calls.signPortUrl(id, port.port, { expiresIn: URL_FOR }))}
      />{" "}
      <Action
        label={isPublic ? "Close" : "Open to all"}
        of={String(port.port)}
        request={portRequest(vm, id, { port: port.port, isPublic: !isPublic })}
        needs={vm.writeScope}
        {...(isPublic ? {} : { confirm: "Everyone who knows the id reaches it, without a token." })}
        run={async () => {
          await vm.calls.setPortPublic(id, port.port, !isPublic);
          done();
        }}
      />
      {signed.value !== undefined && (
        <p>
          <a href={signed.value.url} target="_blank" rel="noopener noreferrer">
            Open in a new tab
          </a>{" "}
          <Copy text={signed.value.url} label={`the address of ${port.port}`} />
          <span class="muted">
            ends <When at={signed.value.expires_at} />
          </span>
        </p>
      )}
    </li>
  );
}
