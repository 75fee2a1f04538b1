// The goals of the benchmark: what one core is to carry, in proportion to nginx and to itself where that is possible,
// because a ratio depends less on the machine than a time does.
import { figuresTable } from "../docs/generators/markdown.ts";
import { NATIVE } from "./subjects/fronts.ts";
import { EVENTS_PER_STREAM, PROTOCOLS } from "./load/protocols.ts";
import type { MemoryResult, RowResult } from "./load/scenarios.ts";

export interface Target {
  readonly what: string;
  readonly goal: string;
  /** `null` when a row that it needs was not measured. */
  readonly measured: string | null;
  readonly met: boolean;
}

/** The table of targets; without a judgement where `judged` is false. */
export function targetTable(targets: readonly Target[], judged: boolean): string {
  return figuresTable(
    ["target", "goal", "measured", ""],
    targets.map(({ what, goal, measured, met }) => [
      what,
      goal,
      measured ?? "not measured",
      measured === null || !judged ? "" : met ? "met" : "**missed**",
    ]),
  );
}

interface Measured {
  readonly rows: readonly RowResult[];
  readonly memory: MemoryResult | null;
}

export function targetsOf({ rows, memory }: Measured): readonly Target[] {
  const plainMicros = cpuOf(rows, "gateway-plain");
  const routeMicros = cpuOf(rows, "gateway-plain-route");
  return [
    timesNginx("CPU per plain request, same shape, all threads", plainMicros, cpuOf(rows, "nginx-plain"), 4),
    timesNginx(
      "CPU per plain request, same shape, main thread",
      find(rows, "gateway-plain")?.servingMicros ?? null,
      cpuOf(rows, "nginx-plain"),
      3,
    ),
    atMost(
      "CPU that a route of three targets adds to a plain request",
      2,
      "µs",
      ifBoth(routeMicros, plainMicros, (one, other) => one - other),
    ),
    ...PROTOCOLS.map(({ id, label }) =>
      atMost(
        `CPU that translating a plain request adds, ${label}`,
        25,
        "%",
        ifBoth(cpuOf(rows, `gateway-plain-${id}`), plainMicros, (one, other) => (one / other - 1) * 100),
      ),
    ),
    ...NATIVE.flatMap(({ id, front }) => [
      moreThanChat(rows, "plain", front, `translated /${front}`, 50),
      moreThanChat(rows, "plain", id, `native /${front}`, 10),
      moreThanChat(rows, "stream", front, `translated /${front}`, 50),
      moreThanChat(rows, "stream", id, `native /${front}`, 10),
    ]),
    timesNginx(
      `CPU per stream of ${EVENTS_PER_STREAM} events, same shape`,
      cpuOf(rows, "gateway-stream"),
      cpuOf(rows, "nginx-stream"),
      6,
    ),
    ...PROTOCOLS.map(({ id, label }) =>
      timesNginx(
        `CPU per stream of ${EVENTS_PER_STREAM} events, ${label}`,
        cpuOf(rows, `gateway-stream-${id}`),
        cpuOf(rows, "nginx-stream"),
        9,
      ),
    ),
    eventTarget(rows, "gateway-stream", "same shape", 350_000),
    ...PROTOCOLS.map(({ id, label }) =>
      eventTarget(rows, `gateway-stream-${id}`, label, id === "bedrock" ? 300_000 : 190_000),
    ),
    atMost(
      "p99 added at one connection, with two cores free",
      500,
      "µs",
      ifBoth(
        find(rows, "unbound-plain")?.p99Ms ?? null,
        find(rows, "direct-plain")?.p99Ms ?? null,
        (one, other) => (one - other) * 1000,
      ),
    ),
    // A quick run opens fewer streams, which says nothing about this target.
    atMost("resident memory with 1,000 open streams", 110, "MB", memory?.streams === 1000 ? memory.openMb : null),
  ];
}

export function find(rows: readonly RowResult[], id: string): RowResult | undefined {
  return rows.find(({ scenario }) => scenario.id === id);
}

/**
 * Divides events by the CPU time that the subject used for them. Returns null where there is no subject, or where its
 * time was too short to be measured.
 */
export function eventsPerCore({ cpuMicros }: RowResult): number | null {
  return cpuMicros === null || cpuMicros === 0 ? null : EVENTS_PER_STREAM / (cpuMicros / 1e6);
}

function cpuOf(rows: readonly RowResult[], id: string): number | null {
  return find(rows, id)?.cpuMicros ?? null;
}

function ifBoth(
  one: number | null,
  other: number | null,
  combine: (one: number, other: number) => number,
): number | null {
  return one === null || other === null || other === 0 ? null : combine(one, other);
}

function moreThanChat(
  rows: readonly RowResult[],
  kind: "plain" | "stream",
  id: string,
  what: string,
  percent: number,
): Target {
  return atMost(
    `CPU of a ${kind === "plain" ? "plain call" : "stream"} above chat of same shape, ${what}`,
    percent,
    "%",
    ifBoth(cpuOf(rows, `gateway-${kind}-${id}`), sameShape(rows, kind), (one, other) => (one / other - 1) * 100),
  );
}

function sameShape(rows: readonly RowResult[], kind: "plain" | "stream"): number | null {
  return cpuOf(rows, kind === "plain" ? "gateway-plain" : "gateway-stream");
}

function timesNginx(what: string, ours: number | null, nginx: number | null, most: number): Target {
  const ratio = ifBoth(ours, nginx, (one, other) => one / other);
  return {
    what,
    goal: `at most ${most} times nginx's`,
    measured: ratio === null ? null : `${ratio.toFixed(1)} times`,
    met: ratio !== null && ratio <= most,
  };
}

/** A target for a figure in `unit`, of which `most` is still met. */
export function atMost(what: string, most: number, unit: string, measured: number | null): Target {
  return {
    what,
    goal: `at most ${most} ${unit}`,
    measured: measured === null ? null : `${measured.toFixed(unit === "µs" && most < 100 ? 1 : 0)} ${unit}`,
    met: measured !== null && measured <= most,
  };
}

function eventTarget(rows: readonly RowResult[], id: string, shape: string, goal: number): Target {
  const row = find(rows, id);
  const measured = row === undefined ? null : eventsPerCore(row);
  return {
    what: `streamed events/s per core, ${shape}`,
    goal: `at least ${goal.toLocaleString("en-US")}`,
    measured: measured === null ? null : Math.round(measured).toLocaleString("en-US"),
    met: measured !== null && measured >= goal,
  };
}
