import type { Build } from "@skerry/sdk";
import { href, path, query } from "../router.ts";
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
      <div class="wide" tabIndex={0} role="region" aria-label="Steps">
        <table class="figures">
          <thead>
            <tr>
              {["Step", "What it does", "Status", "Took", "Exit code"].map((name) => (
                <th key={name} scope="col">
                  {name}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {steps.map((step, index) => (
              <tr key={index}>
                <td>
                  <a
                    href={href(`${path.value}?step=${index + 1}`)}
                    {...(chosen === String(index + 1) ? { "aria-current": "true" as const } : {})}
                  >
                    {index + 1}
                  </a>
                </td>
                <td>
                  <code>{printable(step.name)}</code>
                </td>
                <td>
                  <StatusMark status={step.status} /> <span class="muted">{stepExtras(step)}</span>
                </td>
                <td>{tookOf(step)}</td>
                <td>{step.exit_code}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </Panel>
  );
}
