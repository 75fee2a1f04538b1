// Calls for measurements and tests of stores with many rows: by their number always the same, spread over the days, and nearly evenly over
// everything else that can be asked for.
import type { CallRecord } from "../../src/core/record/record.ts";
import type { CallStore } from "../../src/store/calls/calls.ts";
import { rowOf } from "../../src/store/journal/journal-row.ts";
import { attemptOf, bareRecord } from "../../test/contract/store/call-records.ts";

const DAY_MS = 86_400_000;
const BATCH = 5000;

/**
 * Which calls are made. They are plain calls of one token, or those of 200 tokens with two models each, and 5,000 end users, with two members
 * of metadata, and one in twenty failed.
 */
export type Mix = "plain" | "many callers";

export interface CallSpread {
  readonly rows: number;
  readonly mix: Mix;
  readonly fromMs: number;
  readonly days: number;
  /** Where the calls of a token belong; 10 tenants and 40 projects, if left out. */
  readonly placeOf?: (token: number) => { readonly tenantId: string; readonly projectId: string };
}

const MODELS = Array.from({ length: 12 }, (_, index) => `model-${index}`);

const mixedOf = (number: number): number => Math.imul(number + 1, 2_654_435_761) >>> 0;
export const requestIdOf = (number: number): string => `req_${mixedOf(number).toString(36)}${number.toString(36)}`;

const manyPlaces = (token: number) => ({ tenantId: `tenant-${token % 10}`, projectId: `project-${token % 40}` });

/** Returns the same record for the same number. */
export function madeCall(number: number, { rows, mix, fromMs, days, placeOf = manyPlaces }: CallSpread): CallRecord {
  const mixed = mixedOf(number);
  const isPlain = mix === "plain";
  const token = isPlain ? 3 : mixed % 200;
  const failed = !isPlain && mixed % 20 === 0;
  const startedAtMs = fromMs + Math.floor((number / rows) * days * DAY_MS);
  const model = (token + (mixed % 5 === 0 ? 1 : 0)) % MODELS.length;
  const prompt = 200 + (mixed % 4000);
  const completion = 20 + (mixed % 800);
  const usage = failed
    ? null
    : { prompt_tokens: prompt, completion_tokens: completion, total_tokens: prompt + completion };
  return bareRecord({
    traceId: `${startedAtMs.toString(16).padStart(12, "0")}${mixed.toString(16).padStart(8, "0")}${number.toString(16).padStart(12, "0")}`,
    startedAtMs,
    clientRequestId: !isPlain && number % 10 === 7 ? `req-${number}` : null,
    snapshotVersion: 3,
    tokenId: `token${token}`,
    ...placeOf(token),
    endUser: !isPlain && mixed % 3 === 0 ? `user-${mixed % 5000}` : null,
    modelAsked: "openai:model",
    route: token % 2 === 0 ? "fast" : "direct",
    provider: model % 4 === 0 ? "anthropic" : "openai",
    model: MODELS[model]!,
    stream: mixed % 2 === 0,
    status: failed ? 502 : 200,
    code: failed ? "upstream_error" : null,
    dispositions: { temperature: "native", max_completion_tokens: "native" },
    messages: { count: 3, roles: { system: 1, user: 2 }, blocks: ["text"], bodyCharacters: 1200 },
    attempts: [
      attemptOf({
        provider: "openai",
        model: "model",
        status: failed ? 500 : 200,
        code: failed ? "upstream_error" : null,
        usage,
        usageSource: failed ? null : "provider",
        requestId: requestIdOf(number),
        headMs: 320 + (mixed % 97) / 8,
        firstContentMs: 400,
        totalMs: 1500,
      }),
    ],
    finishReasons: ["stop"],
    providerRequestId: requestIdOf(number),
    usage,
    usageSource: failed ? null : "provider",
    cost: failed ? null : { nanoUsd: prompt * 2500 + completion * 10_000, priceId: "genai-prices@0.1.8:openai/gpt-4o" },
    metadata: isPlain ? null : { team: "search", session: `s${mixed % 50_000}` },
    firstContentMs: 400,
    totalMs: mixed % 20_000,
    ownMs: 0.2,
  });
}

/** Writes the calls from one number up to another as a gateway writes them. */
export async function fillCalls(
  calls: Pick<CallStore, "ingest">,
  spread: CallSpread,
  { from = 0, to = spread.rows, batch = BATCH } = {},
): Promise<void> {
  for (let at = from; at < to; at += batch)
    await calls.ingest(
      Array.from({ length: Math.min(batch, to - at) }, (_, index) =>
        rowOf(Buffer.from(JSON.stringify(madeCall(at + index, spread))), true),
      ),
    );
}
