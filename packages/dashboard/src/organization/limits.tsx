import { LIMIT_MAX, limitNames } from "@skerry/contract/limits/quotas";
import type { Limits as LimitsReport } from "@skerry/sdk";
import { skerry } from "../api.ts";
import { useLoaded, type Loaded } from "../live/use-loaded.ts";
import { may } from "../session.ts";
import { command, CopyAs } from "../ui/copy-as.tsx";
import { Form, type Given } from "../ui/form.tsx";
import { Panel } from "../ui/panel.tsx";
import { countText } from "../ui/text.ts";
import { Waiting } from "../ui/waiting.tsx";
import { requestOf } from "../ui/request-of.ts";

const ALMOST = 0.9;

export const useLimits = (): Loaded<LimitsReport> =>
  useLoaded("limits", (signal) => skerry.limits({ signal }));

interface LimitsProps {
  readonly organization: string;
  readonly limits: Loaded<LimitsReport>;
}

export function Limits({ organization, limits }: LimitsProps) {
  const request = requestOf("getLimits", { cli: "skerry org limits" });
  return (
    <Panel title="Limits" actions={<CopyAs request={request} of="the limits" />}>
      <Waiting of={limits}>{limits.value && <Quotas quotas={limits.value.quotas} />}</Waiting>
      {may("platform:write") && (
        <details class="more">
          <summary>Change a limit</summary>
          <ChangeForm organization={organization} done={limits.reload} />
        </details>
      )}
    </Panel>
  );
}

function Quotas({ quotas }: { readonly quotas: LimitsReport["quotas"] }) {
  return (
    <dl class="quotas">
      {Object.entries(quotas).map(([name, { limit, used }]) => (
        <div key={name}>
          <dt>{name.replaceAll("_", " ")}</dt>
          <dd>
            <meter
              value={used}
              max={Math.max(limit, 1)}
              high={limit * ALMOST}
              aria-label={name.replaceAll("_", " ")}
            />{" "}
            {countText(used)} of {countText(limit)}
          </dd>
        </div>
      ))}
    </dl>
  );
}

const fields = {
  properties: {
    limit: { enum: limitNames },
    value: {
      description: "Empty: the installation's setting. What the organization has already it keeps.",
      minimum: 0,
      maximum: LIMIT_MAX,
    },
  },
} as const;

interface ChangeFormProps {
  readonly organization: string;
  readonly done: () => void;
}

function ChangeForm({ organization, done }: ChangeFormProps) {
  return (
    <Form
      schema={fields}
      labels={{ limit: "Limit", value: "At most" }}
      initial={{ limit: "quota_sandboxes" }}
      submit={["Change the limit", "Changing…"]}
      request={(given) => {
        const change = `${given["limit"]}=${given["value"] ?? "default"}`;
        return requestOf("setOrganizationLimits", {
          at: [organization],
          json: changeOf(given),
          cli: command("skerry org limits", organization, "--set", change),
        });
      }}
      send={async (given) => {
        await skerry.organizations.setLimits(organization, changeOf(given));
        done();
      }}
    />
  );
}

/** The field takes numbers alone. */
function changeOf({ limit = "", value }: Given): Readonly<Record<string, number | null>> {
  return { [limit]: value === undefined ? null : Number(value) };
}
