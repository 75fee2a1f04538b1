// Beside the draft of a policy: which of the last calls it would deny, who loses and who gains, and what records do not tell.
import { useState } from "react";
import type { PolicySimulation } from "../../api/types.ts";
import { Pending } from "../../components/pending.tsx";
import { Problem } from "../../components/problem.tsx";
import { ActionsAsCode } from "../../components/as-code.tsx";
import { TableBox } from "../../components/table-box.tsx";
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

function Result({ answer }: { readonly answer: PolicySimulation }) {
  const { calls, from, to, now, proposed, newly_denied: denied, newly_allowed: allowed, who } = answer;
  if (calls === 0)
    return <p className="hint">No call is recorded here yet. The simulation begins with the first one.</p>;
  const rows = [
    ["Allowed", now?.allowed, proposed?.allowed],
    ["Denied", now?.denied, proposed?.denied],
    ["Cannot be judged from records", now?.unknown, proposed?.unknown],
  ] as const;
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
      <TableBox label="Calls by verdict">
        <table>
          <thead>
            <tr>
              <th scope="col">Verdict</th>
              <th scope="col">Now</th>
              {proposed !== null && <th scope="col">With the draft</th>}
            </tr>
          </thead>
          <tbody>
            {rows.map(([title, before, after]) => (
              <tr key={title}>
                <th scope="row">{title}</th>
                <td>{before === undefined ? "–" : wholeCount(before)}</td>
                {after !== undefined && <td>{wholeCount(after)}</td>}
              </tr>
            ))}
          </tbody>
        </table>
      </TableBox>
      {who.length > 0 && (
        <TableBox label="Who loses and who gains">
          <table>
            <thead>
              <tr>
                <th scope="col">Project and token</th>
                <th scope="col">Newly denied</th>
                <th scope="col">Newly allowed</th>
              </tr>
            </thead>
            <tbody>
              {who.map(({ project_id: project, token_id: token, newly_denied: lost, newly_allowed: gained }) => (
                <tr key={`${project} ${token}`}>
                  <th scope="row" className="mono">
                    {visibleText(project ?? "no project")} {visibleText(token ?? "")}
                  </th>
                  <td>{wholeCount(lost)}</td>
                  <td>{wholeCount(gained)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </TableBox>
      )}
    </>
  );
}
