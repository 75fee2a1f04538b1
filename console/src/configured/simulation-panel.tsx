// The frame of a simulation beside a draft: what it found, whether that is about an earlier draft, and how it is asked for.
import { type ReactNode, useState } from "react";
import { ActionsAsCode } from "../components/as-code.tsx";
import { Pending } from "../components/pending.tsx";
import { Problem } from "../components/problem.tsx";
import { useSimulation } from "./use-simulation.ts";

interface SimulationPanelProps<Answer> {
  /** Of the object in the admin API. */
  readonly path: string;
  readonly body: Readonly<Record<string, unknown>>;
  /** What the simulation is made of, and what it does not do. */
  readonly note: string;
  readonly lines: number;
  /** What stands above the answer. */
  readonly switches?: ReactNode;
  readonly children: (answer: Answer) => ReactNode;
}

export function SimulationPanel<Answer>({ path, body, note, lines, switches, children }: SimulationPanelProps<Answer>) {
  const [attempt, setAttempt] = useState(0);
  const { answer, failure, isStale } = useSimulation<Answer>(path, body, attempt);
  return (
    <section className="panel simulation" aria-label="Simulation">
      <h2>
        Simulation <small>{isStale ? "is made again…" : note}</small>
      </h2>
      <div className="panel-body">
        {switches}
        {failure !== null && (
          <Problem
            what="The simulation could not be made."
            error={failure}
            retry={() => setAttempt((before) => before + 1)}
          />
        )}
        {answer === null && failure === null && <Pending what="The simulation" lines={lines} />}
        {answer !== null && <div aria-busy={isStale}>{children(answer)}</div>}
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
