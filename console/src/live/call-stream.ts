// Reads the stream of new calls (`GET /v1/admin/events`) to its end.
import { ApiError, open } from "../api/api.ts";
import type { NewCalls } from "../api/types.ts";

export interface CallTaker {
  readonly take: (calls: NewCalls) => void;
  /** Where the next stream begins. */
  readonly reached: (id: string) => void;
}

/**
 * Resolves to the reason of the end. A login is not asked for in the background: a request that the reader makes does that. Throws ApiError for a
 * stream that is refused.
 */
export async function readCallStream(
  places: readonly string[],
  after: string | null,
  session: string,
  signal: AbortSignal,
  { take, reached }: CallTaker,
): Promise<string> {
  const query = new URLSearchParams({ places: places.join(","), ...(after !== null && { after }) });
  const path = `/v1/admin/events?${query.toString()}`;
  const response = await open("GET", path, { signal, session, headers: { accept: "text/event-stream" } });
  if (!response.ok) {
    await response.body?.cancel();
    throw new ApiError("The stream of new calls was refused.", `GET ${path}`, response.status, null, null, null);
  }
  let reason = "cut";
  let rest = "";
  const decoder = new TextDecoder();
  const reader = response.body!.getReader();
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    const { events, left } = eventsIn(rest + decoder.decode(part.value, { stream: true }));
    rest = left;
    for (const { id, event, data } of events) {
      if (id !== null) reached(id);
      if (event === "calls") take(JSON.parse(data) as NewCalls);
      else if (event === "end") ({ reason } = JSON.parse(data) as { readonly reason: string });
    }
  }
  return reason;
}

export interface ServerEvent {
  readonly id: string | null;
  readonly event: string;
  readonly data: string;
}

/** The complete events of a text, and what is left of it. */
export function eventsIn(text: string): { readonly events: readonly ServerEvent[]; readonly left: string } {
  const blocks = text.split(/\r?\n\r?\n/);
  const left = blocks.pop()!;
  const events = blocks.map((block) => {
    const fields = Map.groupBy(
      block.split(/\r?\n/).map((line) => /^(\w+): ?(.*)$/s.exec(line)),
      (match) => match?.[1] ?? "",
    );
    const last = (name: string): string | null => fields.get(name)?.at(-1)?.[2] ?? null;
    const data = (fields.get("data") ?? []).map((match) => match![2]!).join("\n");
    return { id: last("id"), event: last("event") ?? "message", data };
  });
  return { events, left };
}
