// Beside the draft of a policy: which of the last calls it would deny, who loses and who gains, and what records do not tell.
import { useState } from "react";
import type { PolicySimulation } from "../../api/types.ts";
import { Pending } from "../../components/pending.tsx";
import { Problem } from "../../components/problem.tsx";
import { ActionsAsCode } from "../../components/as-code.tsx";
import { DataTable } from "../../components/data-table.tsx";
import type { SimulationProps } from "../../configured/noun.ts";
import { useSimulation } from "../../configured/use-simulation.ts";
import { counted, wholeCount } from "../../format/count.ts";
import { visibleText } from "../../format/visible-text.ts";
import { SimulatedCalls } from "../calls/simulated-calls.tsx";

export function PolicySimulationPanel({ fields, path, isChanged }: SimulationProps) {
  const [attempt, setAttempt] = useState(0);
  const body = isChanged ? { policy: fields } : {};
  const { answer, failure, isStale } = useSimulation<PolicySimulation>(path, body, attempt);
  return (
    <section className="panel simulation" aria-label="Simulation">
      <h2>
        Simulation <small>{isStale ? "is made again…" : "on the last recorded calls; nothing is published"}</small>
      </h2>
      <div className="panel-body">
        {failure !== null && (
          <Problem
            what="The simulation could not be made."
            error={failure}
            retry={() => setAttempt((before) => before + 1)}
          />
        )}
        {answer === null && failure === null && <Pending what="The simulation" lines={4} />}
        {answer !== null && (
          <div aria-busy={isStale}>
            <Result answer={answer} />
          </div>
        )}
        <p className="actions">
          <ActionsAsCode
            of="of the simulation"
            actions={{ "Simulate the calls": { method: "POST", path: `${path}/simulate`, body } }}
          />
        </p>
      </div>
    </section>
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
