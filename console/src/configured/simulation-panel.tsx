// What a draft would do, beside the draft. It is asked again on each pause in typing, and what was found before stays until the new answer is there.
import { type ReactNode, useEffect, useState } from "react";
import { ApiError } from "../api/api.ts";
import { useApi } from "../api/use-api.tsx";
import { ActionsAsCode } from "../components/as-code.tsx";
import { Pending } from "../components/pending.tsx";
import { Problem } from "../components/problem.tsx";

const PAUSE_MS = 600;

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

interface Failed {
  readonly error: Error;
  readonly text: string;
  readonly attempt: number;
}

/** Another `attempt` asks the same again. */
function useSimulation<Answer>(path: string, body: object, attempt: number) {
  const api = useApi();
  const text = JSON.stringify(body);
  const [found, setFound] = useState<{ readonly answer: Answer; readonly text: string } | null>(null);
  const [failed, setFailed] = useState<Failed | null>(null);
  useEffect(() => {
    const stop = new AbortController();
    const ask = async (): Promise<void> => {
      try {
        const sent = { body: JSON.parse(text) as object, signal: stop.signal };
        const answer = await api.send<Answer>("POST", `${path}/simulate`, sent);
        setFound({ answer, text });
        setFailed(null);
      } catch (error) {
        // the editor says what is wrong with a draft
        if (stop.signal.aborted || (error instanceof ApiError && error.status === 400)) return;
        setFailed({ error: error instanceof Error ? error : new Error(String(error)), text, attempt });
      }
    };
    const timer = setTimeout(() => void ask(), PAUSE_MS);
    return () => {
      clearTimeout(timer);
      stop.abort();
    };
  }, [api, path, text, attempt]);
  return {
    answer: found?.answer ?? null,
    failure: failed?.text === text && failed.attempt === attempt ? failed.error : null,
    /** The answer is about an earlier draft. */
    isStale: found !== null && found.text !== text,
  };
}
