// What a draft would do, asked again on each pause in typing. What was found before stays until the new answer is there.
import { useEffect, useState } from "react";
import { ApiError } from "../api/api.ts";
import { useApi } from "../api/use-api.tsx";

const PAUSE_MS = 600;

interface Failed {
  readonly error: Error;
  readonly text: string;
  readonly attempt: number;
}

export interface Simulated<Answer> {
  readonly answer: Answer | null;
  readonly failure: Error | null;
  /** The answer is about an earlier draft. */
  readonly isStale: boolean;
}

/** Another `attempt` asks the same again. */
export function useSimulation<Answer>(path: string, body: object, attempt: number): Simulated<Answer> {
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
    isStale: found !== null && found.text !== text,
  };
}
