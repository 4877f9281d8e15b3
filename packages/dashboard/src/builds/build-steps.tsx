import type { Build } from "@skerry/sdk";
import { href, path, query } from "../router.ts";
import { Figures } from "../ui/figures.tsx";
import { Panel } from "../ui/panel.tsx";
import { StatusMark } from "../ui/status-mark.tsx";
import { printable } from "../ui/text.ts";
import { stepExtras } from "./step-extras.ts";
import { tookOf } from "./took.tsx";

/** Its steps in their order; each leads to what it alone has printed. */
export function BuildSteps({ build: { steps } }: { readonly build: Build }) {
  if (steps.length === 0) return null;
  const chosen = query.value.get("step");
  return (
    <Panel title="Steps">
      <Figures
        label="Steps"
        headings={["Step", "What it does", "Status", "Took", "Exit code"]}
        rows={steps.map((step, index) => ({
          key: String(index),
          cells: [
            <a
              href={href(`${path.value}?step=${index + 1}`)}
              {...(chosen === String(index + 1) ? { "aria-current": "true" as const } : {})}
            >
              {index + 1}
            </a>,
            <code>{printable(step.name)}</code>,
            <>
              <StatusMark status={step.status} /> <span class="muted">{stepExtras(step)}</span>
            </>,
            tookOf(step),
            step.exit_code,
          ],
        }))}
      />
    </Panel>
  );
}
