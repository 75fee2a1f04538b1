// A gateway in the process whose tenant allows the response cache, with a store in memory.
import { cacheSecrets } from "../../src/cache/cache-secrets.ts";
import type { AnswerCache } from "../../src/cache/answer-cache.ts";
import { openMemoryCache } from "../../src/cache/memory.ts";
import { ResponseCache, type StoreFault } from "../../src/cache/response-cache.ts";
import type { CacheSetting } from "../../src/core/configured/cache.ts";
import type { Clock } from "../../src/core/clock.ts";
import { DIRECT_ROUTE } from "../../src/core/configured/route.ts";
import { cannedUpstream, type CannedAnswer, type Stub, stubGateway, type StubOptions } from "./in-process.ts";
import { routeOf } from "./routed.ts";
import { providerSettings, storedKey } from "./targets.ts";

export const MASTER_KEY = new Uint8Array(32).fill(7);
const MASTER_KEYS = [MASTER_KEY];

export interface Cached extends Stub {
  readonly cache: ResponseCache;
  readonly store: AnswerCache;
  readonly faults: readonly (StoreFault | null)[];
}

export interface CachedOptions extends StubOptions {
  readonly store?: AnswerCache;
  /** What the project says; every call is kept for a minute by token, if left out, and `null` for nothing. */
  readonly setting?: CacheSetting | "off" | null;
  readonly isAllowed?: boolean;
  readonly maxAnswerBytes?: number;
  readonly answer?: CannedAnswer | ((request: { readonly body: string }) => CannedAnswer);
}

const NO_SETTINGS = { dropParams: null, disableStopSequenceLimit: null };

/** The providers `one` and `two` speak OpenAI's form. */
export function cachedGateway({
  store = openMemoryCache(1_000_000),
  setting = { ttlMs: 60_000, scope: "token" },
  isAllowed = true,
  maxAnswerBytes = 100_000,
  answer = WHOLE,
  ...options
}: CachedOptions = {}): Cached {
  const clock: Clock = options.clock ?? { now: () => 1_767_225_600_000, monotonic: () => performance.now() };
  const faults: (StoreFault | null)[] = [];
  const cache = new ResponseCache({
    store,
    keys: cacheSecrets(() => MASTER_KEYS),
    clock,
    maxAnswerBytes,
    onFault: (fault) => faults.push(fault),
  });
  const stub = stubGateway({
    upstream: cannedUpstream(answer),
    providers: ["one", "two"].map((id) => ({
      ...providerSettings({
        id,
        family: "custom",
        baseUrl: `http://${id}.test/v1`,
        credentials: [storedKey(`key-of-${id}`)],
      }),
      models: [PRICED],
    })),
    ...options,
    clock,
    cache,
    snapshot: {
      routes: new Map([[DIRECT_ROUTE, routeOf(DIRECT_ROUTE, [])]]),
      tenantSettings: new Map([["default", { ...NO_SETTINGS, cacheAllowed: isAllowed }]]),
      projectSettings: new Map(setting === null ? [] : [["default", { ...NO_SETTINGS, cache: setting }]]),
      ...options.snapshot,
    },
  });
  return Object.assign(stub, { cache, store, faults });
}

/** One dollar for a million tokens of prompt, two for the answer's: a call of ASK costs 15,000 nano-dollars. */
const PRICED = {
  id: "m",
  name: null,
  contextLength: null,
  maxCompletionTokens: null,
  pricing: { prompt: "0.000001", completion: "0.000002" },
};
export const COST_NANO_USD = 15_000;

export const ASK = { model: "one:m", messages: [{ role: "user", content: "Hello?" }] };

export const WHOLE: CannedAnswer = {
  headers: { "content-type": "application/json" },
  body: JSON.stringify({
    id: "chatcmpl-of-the-provider",
    object: "chat.completion",
    created: 1_760_000_000,
    model: "m-2026",
    choices: [
      { index: 0, message: { role: "assistant", content: "Good day." }, finish_reason: "stop", logprobs: null },
    ],
    usage: { prompt_tokens: 9, completion_tokens: 3, total_tokens: 12 },
  }),
};

const chunk = (delta: object, finish: string | null): string =>
  `data: ${JSON.stringify({
    id: "chatcmpl-of-the-provider",
    object: "chat.completion.chunk",
    created: 1_760_000_000,
    model: "m-2026",
    choices: [{ index: 0, delta, finish_reason: finish }],
  })}\n\n`;

export const STREAMED: CannedAnswer = {
  headers: { "content-type": "text/event-stream" },
  chunk: "event",
  body: `${chunk({ role: "assistant", content: "" }, null)}${chunk({ content: "Good" }, null)}${chunk({ content: " day." }, null)}${chunk({}, "stop")}data: ${JSON.stringify(
    {
      id: "chatcmpl-of-the-provider",
      object: "chat.completion.chunk",
      created: 1_760_000_000,
      model: "m-2026",
      choices: [],
      usage: { prompt_tokens: 9, completion_tokens: 3, total_tokens: 12 },
    },
  )}\n\ndata: [DONE]\n\n`,
};
