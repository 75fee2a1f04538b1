// What follows from measured costs, by calculation: how many calls a machine with more cores would carry, what stands in
// the way then, and what has to be bought for a number of calls.
import { isMeasured, type Sizing, type StoreCost } from "./figures.ts";
import type { WorkerCost } from "../worker-costs.ts";

/** The share of a machine that is planned for: the rest is for peaks, for other programs, and for what was not measured. */
export const PLANNED_SHARE = 0.6;
/** The most that `server.workers` can be. */
const MOST_WORKERS = 64;
/** Over as many connections a gateway writes calls to PostgreSQL, and each has one process of the server. */
export const POSTGRES_WRITERS = 2;
const SECOND_MICROS = 1e6;

/** What can be full first. */
export type Wall = "cores" | "workers" | "supervisor" | "writer" | "postgres";

export interface Capacity {
  readonly perSecond: number;
  readonly wall: Wall;
}

export const allMicros = ({ servingMicros, supervisor }: WorkerCost): number =>
  servingMicros + (supervisor?.micros ?? 0);

/**
 * Calls per second of one machine. `cost` is that of one worker of several, or of a single process for one core. The
 * writer is a wall only where calls are kept in SQLite; PostgreSQL's is where `postgres` is given.
 */
export function capacityOf(cores: number, cost: WorkerCost, postgres: StoreCost | null = null): Capacity {
  const { supervisor, servingMicros } = cost;
  const bounds: readonly (readonly [Wall, number])[] = [
    ["cores", (cores * SECOND_MICROS) / allMicros(cost)],
    ...(supervisor === null
      ? []
      : ([
          ["workers", (MOST_WORKERS * SECOND_MICROS) / servingMicros],
          ["supervisor", SECOND_MICROS / supervisor.mainMicros],
          ...(postgres === null ? [["writer", SECOND_MICROS / supervisor.writerMicros] as const] : []),
        ] as const)),
    ...(postgres === null ? [] : [["postgres", (POSTGRES_WRITERS * SECOND_MICROS) / postgres.cpuMicros] as const]),
  ];
  const [wall, perSecond] = bounds.reduce((least, bound) => (bound[1] < least[1] ? bound : least));
  return { perSecond, wall };
}

/** What is planned for: of all calls, the share that are streams of 200 events, and how long such a stream is open. */
export const STREAM_SHARE = 0.5;
export const STREAM_SECONDS = 10;
/** The average of a day, as a share of its peak. */
export const AVERAGE_SHARE = 1 / 3;
export const KEPT_DAYS = 30;
const DAY_S = 86_400;

export interface Need {
  /** At the peak. */
  readonly perSecond: number;
  readonly machines: number;
  readonly coresEach: number;
  readonly memoryGbEach: number;
  readonly openStreams: number;
  readonly database: "SQLite" | "PostgreSQL";
  readonly diskGb: number;
  readonly logGbADay: number;
}

/** CPU µs of all processes for a planned call, under three policies and five limits. */
export function plannedMicros({ calls, workers }: Sizing, isOneProcess: boolean): number {
  const { alone, ofTwo } = workers.governed;
  return allMicros(isOneProcess ? alone : ofTwo) + STREAM_SHARE * (calls.stream.micros - calls.plain.micros);
}

export function needOf(sizing: Sizing, perSecond: number): Need {
  const { workers, disk, postgres } = sizing;
  const coresFor = (rate: number, isOneProcess: boolean): number =>
    Math.ceil((rate * plannedMicros(sizing, isOneProcess)) / SECOND_MICROS / PLANNED_SHARE);
  const wall = capacityOf(Number.POSITIVE_INFINITY, workers.governed.ofTwo).perSecond * PLANNED_SHARE;
  const isOneProcess = coresFor(perSecond, true) === 1;
  const machines = isOneProcess ? 1 : Math.ceil(perSecond / wall);
  const coresEach = isOneProcess ? 1 : Math.max(2, coresFor(perSecond / machines, false));
  const openStreams = perSecond * STREAM_SHARE * STREAM_SECONDS;
  const { alone, ofTwo } = workers.governed;
  const processesMb = isOneProcess ? alone.servingMb : coresEach * ofTwo.servingMb + ofTwo.supervisor!.mb;
  const keptBytes = machines > 1 && isMeasured(postgres) ? postgres.dataBytes : disk.kept;
  const callsADay = perSecond * AVERAGE_SHARE * DAY_S;
  return {
    perSecond,
    machines,
    coresEach,
    memoryGbEach: (processesMb + ((openStreams / machines) * streamKb(sizing)) / 1000) / 1000,
    openStreams,
    database: machines > 1 ? "PostgreSQL" : "SQLite",
    diskGb: (callsADay * KEPT_DAYS * keptBytes) / 1e9,
    logGbADay: (callsADay * disk.log) / 1e9,
  };
}

/** Memory of an open stream, of the measurement with the most of them; 0 where none was possible. */
export function streamKb({ memory }: Sizing): number {
  const most = memory
    .filter(isMeasured)
    .toSorted((one, other) => one.streams - other.streams)
    .at(-1);
  return most === undefined ? 0 : Math.max(0, ((most.openMb - most.atRestMb) * 1000) / most.streams);
}
