// The lanes of a call's timeline: when each attempt and each tool began and ended, and how.
import { duration } from "../../format/time.ts";
import type { AttemptFields, RecordFields, ToolFields } from "./call-record.ts";

export interface Lane {
  readonly name: string;
  readonly startMs: number;
  readonly headMs: number | null;
  readonly firstMs: number | null;
  readonly endMs: number;
  readonly tone: "good" | "bad" | "idle";
  readonly outcome: string;
}

/** Codes of attempts and tools that the gateway or the client ended, which are no failures of theirs. */
const ENDED_HERE: ReadonlyMap<string | undefined, string> = new Map([
  ["superseded", "ended, because another attempt was faster or a request beside it had failed"],
  ["client_closed", "ended, because the client had left"],
]);

const endedHere = (code: string | undefined): string | null => ENDED_HERE.get(code) ?? null;
const toneOfCode = (code: string | undefined): "bad" | "idle" =>
  code === undefined || ENDED_HERE.has(code) ? "idle" : "bad";

export function lanesOf({ attempts = [], tools = [] }: RecordFields, totalMs: number): readonly Lane[] {
  return [
    ...attempts.map((attempt) => attemptLane(attempt, totalMs)),
    ...tools.map((tool) => toolLane(tool, totalMs)),
  ].toSorted((one, other) => one.startMs - other.startMs);
}

function attemptLane(attempt: AttemptFields, totalMs: number): Lane {
  const status = attempt.status === undefined ? "no answer" : String(attempt.status);
  return {
    name: `${attempt.provider}:${attempt.model ?? ""}${attempt.round === undefined ? "" : `, round ${attempt.round}`}`,
    startMs: attempt.start_ms ?? 0,
    headMs: attempt.head_ms ?? null,
    firstMs: attempt.first_content_ms ?? null,
    endMs: attempt.total_ms ?? totalMs,
    tone: attempt.code === undefined ? "good" : toneOfCode(attempt.code),
    outcome: attempt.from_cache === true ? "from the response cache" : outcomeOf(attempt, status),
  };
}

function outcomeOf({ code, native_code: native, retry_after_ms: wait }: AttemptFields, status: string): string {
  const ended = endedHere(code);
  if (ended !== null) return ended;
  return [
    code === undefined ? `${status} OK` : `${status} ${code}`,
    ...(native !== undefined && native !== code ? [`the provider says ${native}`] : []),
    ...(wait === undefined ? [] : [`asks to wait ${duration(wait)}`]),
  ].join(", ");
}

function toolLane(
  { server, tool, round, code, is_error: isError, start_ms: start = 0, total_ms: total }: ToolFields,
  totalMs: number,
): Lane {
  return {
    name: `tool ${server}/${tool ?? ""}, round ${round}`,
    startMs: start,
    headMs: null,
    firstMs: null,
    endMs: total === undefined ? totalMs : Math.max(total, start),
    tone: code === undefined && isError === true ? "bad" : toneOfCode(code),
    outcome: endedHere(code) ?? code ?? (isError === true ? "the tool reports an error" : "OK"),
  };
}
