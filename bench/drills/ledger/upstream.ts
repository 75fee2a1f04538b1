// A provider that keeps books: which calls reached it, when, for which model, how many at once, and which answers it
// served to the end. The number of the call is the first word of its message and determines its usage.
const MAX_PAUSE_MS = 40;
const CHUNKS = 4;

export interface ServedCall {
  readonly promptTokens: number;
  readonly completionTokens: number;
}

export interface ModelBook {
  /** Calls in the order of their arrival, with the time by the clock of this process. */
  readonly arrivals: { readonly call: number; readonly atMs: number }[];
  /** The calls in flight now; `mostAtOnce` is their highest number so far. */
  atOnce: number;
  mostAtOnce: number;
}

export interface BookkeepingUpstream {
  readonly port: number;
  /** By the name of the requested model. */
  readonly models: ReadonlyMap<string, ModelBook>;
  /** The numbers of the calls that arrived. */
  readonly asked: ReadonlySet<number>;
  /** Calls whose answer was sent completely. */
  readonly served: ReadonlyMap<number, ServedCall>;
  stop(): Promise<void>;
}

/**
 * Returns the usage of the call with this number. Usages differ, so that a row that was confused with another is
 * noticed.
 */
export function usageOf(call: number): ServedCall {
  return { promptTokens: 1 + (call % 97), completionTokens: 1 + (call % 89) };
}

export function startBookkeepingUpstream(hostname = "127.0.0.1"): BookkeepingUpstream {
  const asked = new Set<number>();
  const served = new Map<number, ServedCall>();
  const models = new Map<string, ModelBook>();
  const note = (model: string, call: number, signal: AbortSignal): (() => void) => {
    let book = models.get(model);
    if (book === undefined) models.set(model, (book = { arrivals: [], atOnce: 0, mostAtOnce: 0 }));
    const of = book;
    of.arrivals.push({ call, atMs: performance.now() });
    of.atOnce += 1;
    of.mostAtOnce = Math.max(of.mostAtOnce, of.atOnce);
    let isOver = false;
    const end = (): void => {
      if (!isOver) of.atOnce -= 1;
      isOver = true;
    };
    signal.addEventListener("abort", end);
    return end;
  };
  const server = Bun.serve({
    hostname,
    port: 0,
    idleTimeout: 0,
    async fetch(request) {
      const body = (await request.json()) as {
        model: string;
        stream?: boolean;
        messages: readonly { content: string }[];
      };
      const call = Number.parseInt(body.messages[0]!.content);
      asked.add(call);
      const end = note(body.model, call, request.signal);
      const usage = usageOf(call);
      const told = {
        prompt_tokens: usage.promptTokens,
        completion_tokens: usage.completionTokens,
        total_tokens: usage.promptTokens + usage.completionTokens,
      };
      const frame = { id: `chatcmpl-${call}`, created: 1_767_000_000, model: "m" };
      if (body.stream !== true) {
        await Bun.sleep(Math.random() * MAX_PAUSE_MS);
        served.set(call, usage);
        end();
        return Response.json({
          ...frame,
          object: "chat.completion",
          choices: [
            {
              index: 0,
              message: { role: "assistant", content: "word", refusal: null },
              logprobs: null,
              finish_reason: "stop",
            },
          ],
          usage: told,
        });
      }
      const chunk = (choices: readonly object[], more: object = {}): string =>
        `data: ${JSON.stringify({ ...frame, object: "chat.completion.chunk", choices, ...more })}\n\n`;
      const events = async function* () {
        for (let count = 0; count < CHUNKS; count++) {
          yield chunk([
            { index: 0, delta: { ...(count === 0 && { role: "assistant" }), content: "word " }, finish_reason: null },
          ]);
          await Bun.sleep((Math.random() * MAX_PAUSE_MS) / CHUNKS);
        }
        served.set(call, usage);
        end();
        yield chunk([{ index: 0, delta: {}, finish_reason: "stop" }]) + chunk([], { usage: told }) + "data: [DONE]\n\n";
      };
      return new Response(events() as unknown as ReadableStream, { headers: { "content-type": "text/event-stream" } });
    },
  });
  return { port: server.port!, models, asked, served, stop: () => server.stop(true) };
}
