// One stream of new calls for all tabs of a browser, which has only six connections to a server: the tab that holds a lock reads for all of them,
// and tells the others over a channel. When it is closed, hidden or switched off, another one goes on.
import type { NewCallsOfPlace } from "../api/types.ts";
import { ApiError } from "../api/api.ts";
import { readCallStream } from "./call-stream.ts";

/** Tabs that show different sessions share nothing. */
const nameOf = (session: string): string => `dragoman.live.${session}`;
/** As many as one stream follows. */
const MOST_PLACES = 10;
const FIRST_WAIT_MS = 1000;
const LONGEST_WAIT_MS = 30_000;

type Batch = NewCallsOfPlace;

type Said =
  | { readonly kind: "wants"; readonly tab: string; readonly place: string }
  | { readonly kind: "leaves"; readonly tab: string }
  | { readonly kind: "who" }
  | { readonly kind: "calls"; readonly places: readonly Batch[] }
  | { readonly kind: "state"; readonly isOpen: boolean };

export interface LiveReader {
  readonly take: (batch: Batch) => void;
  readonly changed: (isOpen: boolean) => void;
}

/** Follows the place for the session with this id until the function that is returned is called. */
export function joinLive(place: string, session: string, { take, changed }: LiveReader): () => void {
  const tab = Math.random().toString(36).slice(2);
  const channel = new BroadcastChannel(nameOf(session));
  const over = new AbortController();
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a channel is of one origin
  const say = (said: Said): void => channel.postMessage(said);
  const hear = (said: Said): void => {
    if (said.kind === "who") say({ kind: "wants", tab, place });
    else if (said.kind === "state") changed(said.isOpen);
    else if (said.kind === "calls") for (const batch of said.places) if (batch.place === place) take(batch);
  };
  channel.addEventListener("message", (event: MessageEvent<Said>) => hear(event.data));
  say({ kind: "wants", tab, place });
  const lead = (): Promise<void> => {
    const tellAll = (said: Said): void => {
      say(said);
      hear(said);
    };
    return leadUntil(over.signal, { tab, place, session, channel, say, tellAll });
  };
  // the browser offers locks on https and loopback only; elsewhere each tab has its own stream
  const leading =
    "locks" in navigator ? navigator.locks.request(nameOf(session), { signal: over.signal }, lead) : lead();
  leading.catch(() => {
    // the wait for the lock was ended
  });
  return () => {
    say({ kind: "leaves", tab });
    over.abort();
    channel.close();
  };
}

interface Leader {
  readonly tab: string;
  readonly place: string;
  readonly session: string;
  readonly channel: BroadcastChannel;
  readonly say: (said: Said) => void;
  readonly tellAll: (said: Said) => void;
}

async function leadUntil(over: AbortSignal, { tab, place, session, channel, say, tellAll }: Leader): Promise<void> {
  const wanted = new Map([[tab, place]]);
  /** Whether the places of all tabs were refused together; they are asked for again when they change or the stream ends. */
  let isRefused = false;
  let reading = new AbortController();
  const placesNow = (): readonly string[] => [...new Set(wanted.values())].slice(0, MOST_PLACES);
  channel.addEventListener("message", ({ data: said }: MessageEvent<Said>) => {
    const before = placesNow().join();
    if (said.kind === "wants") wanted.set(said.tab, said.place);
    else if (said.kind === "leaves") wanted.delete(said.tab);
    if (placesNow().join() === before) return;
    isRefused = false;
    reading.abort();
  });
  over.addEventListener("abort", () => reading.abort());
  say({ kind: "who" });
  let after: string | null = null;
  let waitMs = FIRST_WAIT_MS;
  while (!over.aborted) {
    reading = new AbortController();
    try {
      // where the place of another tab is refused, the own one goes on alone
      const places = isRefused ? [place] : placesNow();
      tellAll({ kind: "state", isOpen: true });
      const reason = await readCallStream(places, after, session, reading.signal, {
        take: ({ places: batches }) => tellAll({ kind: "calls", places: batches }),
        reached: (id) => (after = id),
      });
      waitMs = FIRST_WAIT_MS;
      isRefused = false;
      if (reason === "renew") continue;
    } catch (error) {
      if (reading.signal.aborted) continue;
      isRefused = error instanceof ApiError && error.status !== null && error.status < 500;
    }
    if (over.aborted) return;
    tellAll({ kind: "state", isOpen: false });
    await pause(waitMs, over);
    waitMs = Math.min(waitMs * 2, LONGEST_WAIT_MS);
  }
}

function pause(ms: number, over: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer);
      over.removeEventListener("abort", end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    over.addEventListener("abort", end);
  });
}
