// Sends the call of one pane and follows its answer. Events are shown with each frame of the screen, not one by one.
import { useCallback, useEffect, useRef, useState } from "react";
import { useApi } from "../../api/use-api.tsx";
import { eventsIn } from "../../live/call-stream.ts";
import { type Answer, END, NO_ANSWER, type Run, type RunEvent, withData } from "./chat-run.ts";
import type { JsonObject } from "./play-request.ts";

const PATH = "/v1/chat/completions";

export function useRun() {
  const api = useApi();
  const [run, setRun] = useState<Run | null>(null);
  const abort = useRef<AbortController | null>(null);
  useEffect(() => () => abort.current?.abort(), []);
  const stop = useCallback(() => abort.current?.abort(), []);
  /** `replayed` is the trace id of the call that this one repeats, for the audit log. */
  const start = useCallback(
    async (sent: JsonObject, projectId: string, replayed: string | null) => {
      abort.current?.abort();
      const controller = new AbortController();
      abort.current = controller;
      let latest: Run = {
        state: "running",
        sent,
        status: null,
        headers: [],
        traceId: null,
        events: [],
        answer: NO_ANSWER,
        headMs: null,
        firstTokenMs: null,
        totalMs: null,
        failure: null,
      };
      const show = (next: Run): void => {
        latest = next;
        if (abort.current === controller) setRun(next);
      };
      show(latest);
      const startedMs = performance.now();
      const sinceMs = (): number => performance.now() - startedMs;
      try {
        const response = await api.open("POST", PATH, {
          body: sent,
          signal: controller.signal,
          headers: {
            "x-gateway-project-id": projectId,
            "x-gateway-cost": "true",
            ...(replayed !== null && { "x-gateway-replay-of": replayed }),
          },
        });
        show({
          ...latest,
          status: response.status,
          headers: [...response.headers],
          traceId: response.headers.get("x-gateway-trace-id"),
          headMs: sinceMs(),
        });
        show({ ...(await followed(response, latest, sinceMs, show)), state: "ended", totalMs: sinceMs() });
      } catch (error) {
        const stopped = controller.signal.aborted;
        show({
          ...latest,
          state: stopped ? "stopped" : "failed",
          totalMs: sinceMs(),
          failure: stopped ? null : (error as Error).message,
        });
      }
    },
    [api],
  );
  return { run, start, stop };
}

/** Reads the body to its end, and shows it at most once for each frame. */
async function followed(response: Response, head: Run, sinceMs: () => number, show: (run: Run) => void): Promise<Run> {
  const isStream = response.headers.get("content-type")?.startsWith("text/event-stream") === true;
  if (!isStream) {
    const data = await response.text();
    const atMs = sinceMs();
    return { ...head, events: [{ atMs, data }], answer: withData(NO_ANSWER, data), totalMs: atMs };
  }
  const events: RunEvent[] = [];
  let answer: Answer = NO_ANSWER;
  let firstTokenMs: number | null = null;
  let isWhole = false;
  let rest = "";
  let frame: number | null = null;
  const now = (): Run => ({ ...head, events: [...events], answer, firstTokenMs });
  const decoder = new TextDecoder();
  const reader = response.body!.getReader();
  try {
    for (let part = await reader.read(); !part.done; part = await reader.read()) {
      const read = eventsIn(rest + decoder.decode(part.value, { stream: true }));
      rest = read.left;
      for (const { data } of read.events) {
        // a comment
        if (data === "") continue;
        isWhole ||= data === END;
        events.push({ atMs: sinceMs(), data });
        answer = withData(answer, data);
        if (firstTokenMs === null && (answer.text !== "" || answer.reasoning !== "" || answer.toolCalls.length > 0))
          firstTokenMs = sinceMs();
      }
      frame ??= requestAnimationFrame(() => {
        frame = null;
        show(now());
      });
    }
  } finally {
    if (frame !== null) cancelAnimationFrame(frame);
    // A stream that breaks keeps what came of it.
    show(now());
  }
  // a proxy in between may end a stream that was cut as if it were whole
  if (!isWhole && answer.error === null) throw new Error("The stream was cut: the end of the answer did not arrive.");
  return now();
}
