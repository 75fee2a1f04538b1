// `GET /events`: new calls of some places as server-sent events (https://html.spec.whatwg.org/multipage/server-sent-events.html), for pages that
// stay open. A stream ends after a minute at most, and its reader goes on with another one.
import { z } from "zod";
import { ADMIN_OPERATIONS } from "../../../auth/admin-operations.ts";
import { type AdminCaller, nothingThere, requireRole, type TenantOrProject } from "../../../auth/grants.ts";
import { judgedParts } from "../../../auth/judged-reading.ts";
import type { Clock } from "../../../core/clock.ts";
import { mostOfTenant, OpenCount } from "../../../core/concurrency/open-count.ts";
import { GatewayError, retryLater } from "../../../core/errors.ts";
import type { JsonObject } from "../../../core/json.ts";
import type { Snapshot } from "../../../core/snapshot.ts";
import { listedCall, shownCall, tokenNames } from "./call-shapes.ts";
import { type CallBatch, MOST_ROWS, type NewCalls, openNewCalls } from "./new-calls.ts";
import { type AdminOperation, reading } from "../operation.ts";
import type { AdminCalls } from "../report-reads.ts";
import { instant, iso } from "../schemas.ts";

const MOST_PLACES = 10;
const MOST_SECONDS = 60;
/** Streams of one process, and of one token or session in it. */
const MOST_STREAMS = 400;
const MOST_OF_CALLER = 8;
const BATCH_MS = 250;
const QUIET_MS = 10_000;
/** A reader who is further back than this reads the list of calls. */
const LONGEST_GAP_MS = 600_000;
/** A reader who does not read so much ends its stream. */
const MOST_UNREAD_BYTES = 1_000_000;

const PLACE = /^(-|[A-Za-z0-9_.:@+-]{1,200})\/(-|[A-Za-z0-9_.:@+-]{1,200})$/;
const eventsQuery = z.strictObject({
  places: z
    .string()
    .max(4000)
    .transform((text) => [...new Set(text.split(","))])
    .refine(
      (places) => places.length <= MOST_PLACES && places.every((place) => PLACE.test(place)),
      `expected up to ${MOST_PLACES} places such as acme/search, acme/- or -/-, separated by commas`,
    )
    .meta({
      description:
        "Whose calls: `<tenant>/<project>`, `<tenant>/-` for all of its projects, `-/-` for the whole gateway; up to 10, separated by commas.",
    }),
  after: instant.optional().meta({
    description: "The `id` of the last event that was received: calls that have ended since come first.",
  }),
  seconds: z.coerce
    .number()
    .int()
    .min(0)
    .max(MOST_SECONDS)
    .default(MOST_SECONDS)
    .meta({ description: "How long the stream lasts. With 0 it has what has ended since `after`, and its end." }),
});

const callsOfPlace = z
  .strictObject({
    place: z.string(),
    data: z.array(listedCall).meta({ description: "In the order of their ends. A call may come twice." }),
    token_names: z.record(z.string(), z.string()),
    more: z.boolean().meta({ description: "There were more calls than are listed here. Read the list of calls." }),
  })
  .meta({ id: "NewCallsOfPlace" });
const newCalls = z.strictObject({ places: z.array(callsOfPlace) }).meta({ id: "NewCalls" });

export const END_REASONS = ["renew", "shutting_down", "too_slow", "unavailable", "unauthorized"] as const;
type EndReason = (typeof END_REASONS)[number];

interface EventsContext {
  readonly clock: Clock;
  snapshot(): Snapshot;
  isEnding(): boolean;
}

export function callEventOperations(calls: AdminCalls, context: EventsContext): readonly AdminOperation[] {
  const feed = openNewCalls(calls, context.clock);
  const streams = new OpenCount(MOST_STREAMS);
  return [
    reading({
      id: "followCalls",
      path: "/events",
      tag: "calls",
      summary:
        "Follow new calls as server-sent events: `calls` (with `NewCalls` as data) and, as the last one, `end` with its reason",
      query: eventsQuery,
      events: newCalls,
      run: async ({ caller, callerNow, session, query, snapshot }) => {
        const places = query.places.map((text) => ({ text, at: placeOf(text, caller, snapshot) }));
        const mayGoOn = async (): Promise<void> => {
          const now = await callerNow();
          for (const { text } of places) placeOf(text, now, context.snapshot());
        };
        const leave = enter(streams, caller.token.tenantId, session?.id ?? caller.token.id);
        try {
          const missed = await missedBy(feed, places, query.after, context.clock.now());
          return {
            body: {},
            text: {
              contentType: "text/event-stream; charset=utf-8",
              content: eventStream({ places, feed, missed, lastsMs: query.seconds * 1000, mayGoOn, context, leave }),
            },
          };
        } catch (thrown) {
          leave();
          throw thrown;
        }
      },
    }),
  ];
}

interface FollowedPlace {
  readonly text: string;
  /** `null` is the whole gateway. */
  readonly at: TenantOrProject | null;
}

/** Throws as the list of calls of this place does for who may not see it. */
function placeOf(text: string, caller: AdminCaller, snapshot: Snapshot): TenantOrProject | null {
  const [tenant, project] = text.split("/") as [string, string];
  if (project === "-" && tenant === "-") {
    requireRole(caller, ADMIN_OPERATIONS.get("listCalls")!, null);
    return null;
  }
  const known = project === "-" ? null : snapshot.projects.get(project);
  if (known === undefined || (known !== null && tenant !== "-" && known.tenantId !== tenant))
    throw nothingThere(`project ${project}`);
  const place = { tenantId: known?.tenantId ?? tenant, projectId: known?.id ?? null };
  requireRole(caller, ADMIN_OPERATIONS.get(known === null ? "listTenantCalls" : "listProjectCalls")!, place);
  return place;
}

/** Throws `gateway_overloaded`. Returns what gives the place back. */
function enter(streams: OpenCount, tenantId: string, caller: string): () => void {
  const leave = streams.begin(tenantId, caller, MOST_OF_CALLER);
  if (leave === null)
    throw retryLater(
      "gateway_overloaded",
      `Too many streams of events are open (limits: ${MOST_OF_CALLER} of one token or session, ${mostOfTenant(MOST_STREAMS)} of one tenant, ${MOST_STREAMS} in all). One stream can follow ${MOST_PLACES} places.`,
      5,
    );
  return leave;
}

type Missed = ReadonlyMap<string, CallBatch>;

/** What has ended since the reader's last event. */
async function missedBy(
  feed: NewCalls,
  places: readonly FollowedPlace[],
  afterMs: number | undefined,
  nowMs: number,
): Promise<Missed> {
  if (afterMs === undefined) return new Map();
  if (nowMs - afterMs > LONGEST_GAP_MS)
    return new Map(places.map(({ text }) => [text, { calls: [], isCut: true }] as const));
  return new Map(await Promise.all(places.map(async ({ text, at }) => [text, await feed.since(at, afterMs)] as const)));
}

interface Streamed {
  readonly places: readonly FollowedPlace[];
  readonly feed: NewCalls;
  readonly missed: Missed;
  readonly lastsMs: number;
  /** Throws when the reader may not see every place any more. */
  readonly mayGoOn: () => Promise<void>;
  readonly context: EventsContext;
  readonly leave: () => void;
}

function eventStream({ places, feed, missed, lastsMs, mayGoOn, context, leave }: Streamed): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  const waiting = new Map<string, CallBatch>(missed);
  const endsMs = context.clock.monotonic() + lastsMs;
  let reason: EndReason | null = null;
  let isLeft = false;
  const stop = places.map(({ text, at }) =>
    feed.follow(at, {
      take: (batch) => void waiting.set(text, joined(waiting.get(text), batch)),
      failed: () => (reason = "unavailable"),
    }),
  );
  const end = (): void => {
    isLeft = true;
    for (const leavePlace of stop) leavePlace();
    leave();
  };
  const run = async (controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> => {
    const send = (text: string): void => controller.enqueue(encoder.encode(text));
    const isOver = (): boolean => {
      if ((controller.desiredSize ?? 0) < -MOST_UNREAD_BYTES) reason ??= "too_slow";
      if (context.isEnding()) reason ??= "shutting_down";
      if (context.clock.monotonic() >= endsMs) reason ??= "renew";
      return isLeft || reason !== null;
    };
    send(`retry: 1000\nid: ${iso(context.clock.now())}\n: follows ${places.length} places\n\n`);
    try {
      for await (const text of judgedParts(eventsOf(waiting, context, isOver), mayGoOn)) send(text);
    } catch (thrown) {
      reason = thrown instanceof GatewayError && thrown.entry.status < 500 ? "unauthorized" : "unavailable";
    }
    if (isLeft) return;
    send(`event: end\ndata: ${JSON.stringify({ reason })}\n\n`);
    end();
    controller.close();
  };
  return new ReadableStream<Uint8Array>(
    {
      start(controller) {
        run(controller).catch(end);
      },
      cancel: end,
    },
    new ByteLengthQueuingStrategy({ highWaterMark: 0 }),
  );
}

/** What waits, at most four times a second, and a sign of life where nothing does. */
async function* eventsOf(
  waiting: Map<string, CallBatch>,
  context: EventsContext,
  isOver: () => boolean,
): AsyncGenerator<string, void, void> {
  const { clock } = context;
  let quietSinceMs = clock.monotonic();
  for (;;) {
    const nowMs = clock.monotonic();
    if (waiting.size > 0) {
      const batches = JSON.stringify(shownBatches(waiting, context.snapshot()));
      waiting.clear();
      quietSinceMs = nowMs;
      yield `event: calls\nid: ${iso(clock.now())}\ndata: ${batches}\n\n`;
    } else if (nowMs - quietSinceMs > QUIET_MS) {
      quietSinceMs = nowMs;
      yield `id: ${iso(clock.now())}\n: quiet\n\n`;
    }
    if (isOver()) return;
    await Bun.sleep(BATCH_MS);
  }
}

function joined(before: CallBatch | undefined, { calls, isCut }: CallBatch): CallBatch {
  const all = [...(before?.calls ?? []), ...calls];
  return { calls: all.slice(0, MOST_ROWS), isCut: isCut || before?.isCut === true || all.length > MOST_ROWS };
}

function shownBatches(batches: ReadonlyMap<string, CallBatch>, snapshot: Snapshot): JsonObject {
  return {
    places: [...batches].map(([place, { calls, isCut }]) => ({
      place,
      data: calls.map(shownCall),
      token_names: tokenNames(
        calls.map(({ tokenId }) => tokenId),
        snapshot,
      ),
      more: isCut,
    })),
  };
}
