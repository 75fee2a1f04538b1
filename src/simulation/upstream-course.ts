// How an attempt would proceed if it were not ended early: when its content comes, when and how it ends, by the
// latencies and faults that the simulation is given.
import { attemptError, failureError } from "../engine/attempt/upstream-errors.ts";
import type { Resolved } from "../engine/plan/resolve-target.ts";
import { asGatewayError, type ErrorCode } from "../core/errors.ts";
import { UpstreamFault, type UpstreamFaultKind } from "../wire/upstream.ts";
import type { Target } from "../core/target.ts";
import { concerns, type Fault, type Latency, latencyEntry } from "./faults.ts";
import type { SimulatedCall } from "./simulated-call.ts";

export interface Course {
  /** The time of the first content of a stream, or of the end of a non-streaming answer; `null` when it never comes. */
  readonly contentAtMs: number | null;
  /** Infinity when it never ends. */
  readonly endAtMs: number;
  readonly failure: CourseFailure | null;
  /** Positions in the file of the faults that the attempt met. */
  readonly faults: readonly number[];
}

export interface CourseFailure {
  readonly code: ErrorCode;
  readonly status: number | null;
  readonly retryAfterMs: number | null;
}

export type Courses = ReturnType<typeof createCourses>;

/** When an undisturbed answer comes and ends, from the beginning of the attempt. */
export interface AnswerTimes {
  readonly firstMs: number;
  readonly totalMs: number;
}

/** The times after which a refused connection and an error response arrive. */
const REFUSED_AFTER_MS = 1;
const STATUS_AFTER_MS = 20;
/** The fraction of the time between first content and end after which an answer is cut. */
const CUT_AT = 0.4;

export interface CourseInput {
  readonly timesOf: (name: string, call: SimulatedCall) => AnswerTimes;
  /** Whether the model cannot take the call's prompt, which is then refused there. */
  readonly isTooLong?: (call: SimulatedCall, target: Pick<Target, "providerId" | "model" | "facts">) => boolean;
  readonly faults: readonly Fault[];
  /** Decides whether a fault with a share is met. */
  readonly random: (call: SimulatedCall) => number;
}

export function createCourses({ timesOf, isTooLong = () => false, faults, random }: CourseInput) {
  const numbered = faults.map((fault, number) => ({ ...fault, number }));
  const faultsByTarget = new Map<string, readonly NumberedFault[]>();
  const faultsOf = (name: string): readonly NumberedFault[] =>
    faultsByTarget.getOrInsertComputed(name, () => numbered.filter(({ target }) => concerns(target, name)));
  return {
    of(resolved: Resolved, name: string, call: SimulatedCall, startMs: number): Course {
      const { isStream } = call;
      const own = faultsOf(name);
      const active = own.filter(
        ({ from_ms: fromMs, to_ms: toMs, share }) =>
          fromMs <= startMs && startMs < toMs && (share === 1 || random(call) < share),
      );
      const { firstMs, totalMs } = timesOf(name, call);
      const slow = active.filter(({ kind }) => kind === "slow");
      const addedMs = slow.reduce((sum, fault) => sum + fault.added_ms!, 0);
      const firstAtMs = startMs + firstMs + addedMs;
      const endAtMs = Math.max(firstAtMs, startMs + totalMs + addedMs);
      const bad = active.find(({ kind }) => kind !== "slow") ?? null;
      const met = [...slow, ...(bad === null ? [] : [bad])].map(({ number }) => number);
      if (bad === null && isTooLong(call, resolved.target)) return { ...tooLong(startMs), faults: met };
      const course = courseUnder(bad, { resolved, isStream, startMs, firstAtMs, endAtMs });
      return brokenByDeath({ ...course, faults: met }, own, startMs);
    },
  };
}

/** The latency of a target that is not mentioned. */
const DEFAULT_LATENCY: Latency = latencyEntry.parse({});

/** The times of answers by the latencies of a file, which name targets or all targets of a provider. */
export function latencyTimes(
  latencies: Readonly<Record<string, Latency>>,
  random: () => number,
): CourseInput["timesOf"] {
  return (name) => {
    const latency =
      latencies[name] ?? Object.entries(latencies).find(([key]) => concerns(key, name))?.[1] ?? DEFAULT_LATENCY;
    const factor = 1 + latency.jitter * (2 * random() - 1);
    return { firstMs: latency.first_token_ms * factor, totalMs: latency.total_ms * factor };
  };
}

function tooLong(startMs: number): Omit<Course, "faults"> {
  const failure = { code: "context_length_exceeded", status: 400, retryAfterMs: null } as const;
  return { contentAtMs: null, endAtMs: startMs + STATUS_AFTER_MS, failure };
}

interface NumberedFault extends Fault {
  readonly number: number;
}

interface Undisturbed {
  readonly resolved: Resolved;
  readonly isStream: boolean;
  readonly startMs: number;
  readonly firstAtMs: number;
  readonly endAtMs: number;
}

function courseUnder(
  fault: Fault | null,
  { resolved, isStream, startMs, firstAtMs, endAtMs }: Undisturbed,
): Omit<Course, "faults"> {
  switch (fault?.kind) {
    case "dead":
      return { contentAtMs: null, endAtMs: startMs + REFUSED_AFTER_MS, failure: failed("connection", resolved) };
    case "stall":
      return { contentAtMs: null, endAtMs: Number.POSITIVE_INFINITY, failure: null };
    case "status":
      return {
        contentAtMs: null,
        endAtMs: startMs + STATUS_AFTER_MS,
        failure: answered(fault?.status ?? 500, fault?.retry_after_ms ?? null, resolved),
      };
    case "garbage":
      return { contentAtMs: null, endAtMs: firstAtMs, failure: failed("malformed", resolved) };
    case "cut":
      return {
        contentAtMs: isStream ? firstAtMs : null,
        endAtMs: firstAtMs + CUT_AT * (endAtMs - firstAtMs),
        failure: failed("cut", resolved),
      };
    default:
      return { contentAtMs: isStream ? firstAtMs : endAtMs, endAtMs, failure: null };
  }
}

/** An attempt in flight fails when its target goes down. */
function brokenByDeath(course: Course, faults: readonly NumberedFault[], startMs: number): Course {
  const death = faults.find(
    ({ kind, from_ms: fromMs }) => kind === "dead" && fromMs > startMs && fromMs < course.endAtMs,
  );
  if (death === undefined) return course;
  const hasContent = course.contentAtMs !== null && course.contentAtMs <= death.from_ms;
  return {
    contentAtMs: hasContent ? course.contentAtMs : null,
    endAtMs: death.from_ms,
    failure: { code: hasContent ? "upstream_incomplete" : "upstream_connection", status: null, retryAfterMs: null },
    faults: [...course.faults, death.number],
  };
}

/** Uses the codes that the engine itself gives to such a failure. */
function failed(kind: UpstreamFaultKind, resolved: Resolved): CourseFailure {
  const error = attemptError(new UpstreamFault(kind, "simulated"), { ...resolved, retryAfterMs: null, status: null });
  return { code: asGatewayError(error).code, status: null, retryAfterMs: null };
}

function answered(status: number, retryAfterMs: number | null, resolved: Resolved): CourseFailure {
  if (status < 400) return { code: "upstream_invalid_response", status, retryAfterMs };
  const failure = resolved.provider.classifyError({ status, body: "" });
  return { code: failureError(failure, { ...resolved, retryAfterMs, status }).code, status, retryAfterMs };
}
