// Beside the draft of a policy: which of the last calls it would deny, who loses and who gains, and what records do not tell.
import type { PolicySimulation } from "../../api/types.ts";
import { DataTable } from "../../components/data-table.tsx";
import type { SimulationProps } from "../../configured/noun.ts";
import { SimulationPanel } from "../../configured/simulation-panel.tsx";
import { counted, wholeCount } from "../../format/count.ts";
import { visibleText } from "../../format/visible-text.ts";
import { SimulatedCalls } from "../calls/simulated-calls.tsx";

export function PolicySimulationPanel({ fields, path, isChanged }: SimulationProps) {
  return (
    <SimulationPanel<PolicySimulation>
      path={path}
      body={isChanged ? { policy: fields } : {}}
      note="on the last recorded calls; nothing is published"
      lines={4}
    >
      {(answer) => <Result answer={answer} />}
    </SimulationPanel>
  );
}

/** A verdict with the calls that get it now and with the draft. */
type Row = readonly [title: string, now: number | undefined, proposed: number | undefined];

function Result({ answer }: { readonly answer: PolicySimulation }) {
  const { calls, from, to, now, proposed, newly_denied: denied, newly_allowed: allowed, who } = answer;
  if (calls === 0)
    return <p className="hint">No call is recorded here yet. The simulation begins with the first one.</p>;
  const rows: readonly Row[] = [
    ["Allowed", now?.allowed, proposed?.allowed],
    ["Denied", now?.denied, proposed?.denied],
    ["Cannot be judged from records", now?.unknown, proposed?.unknown],
  ];
  return (
    <>
      <p className="hint">
        <SimulatedCalls calls={calls} from={from} to={to} terms={[]} />
      </p>
      {denied !== null && allowed !== null && (
        <ul className="change-words">
          <li>{counted(denied.calls, "call")} would be newly denied.</li>
          <li>{counted(allowed.calls, "call")} would be newly allowed.</li>
        </ul>
      )}
      <DataTable
        label="Calls by verdict"
        rows={rows}
        keyOf={([title]) => title}
        columns={[
          { head: "Verdict", render: ([title]) => title },
          { head: "Now", render: ([, before]) => (before === undefined ? "–" : wholeCount(before)) },
          ...(proposed === null ? [] : [{ head: "With the draft", render: ([, , after]: Row) => wholeCount(after!) }]),
        ]}
      />
      {who.length > 0 && (
        <DataTable
          label="Who loses and who gains"
          rows={who}
          keyOf={({ project_id: project, token_id: token }) => `${project} ${token}`}
          columns={[
            {
              head: "Project and token",
              render: ({ project_id: project, token_id: token }) => (
                <span className="mono">
                  {visibleText(project ?? "no project")} {visibleText(token ?? "")}
                </span>
              ),
            },
            { head: "Newly denied", render: ({ newly_denied: lost }) => wholeCount(lost) },
            { head: "Newly allowed", render: ({ newly_allowed: gained }) => wholeCount(gained) },
          ]}
        />
      )}
    </>
  );
}
