// What an explanation shows of one target: its parameters with their dispositions, the request that would be sent, and
// what it would cost.
import { usd, usdPerToken } from "../../accounting/price.ts";
import { effectiveCapability, SYNONYMS } from "../../core/capability.ts";
import type { ChatRequest } from "../../core/chat.ts";
import type { StoredCredential } from "../../core/configured/credential.ts";
import type { Principal } from "../../core/identity.ts";
import type { JsonObject } from "../../core/json.ts";
import { COMMON, type CommonParameter, NEVER_UNSUPPORTED } from "../../core/params.ts";
import type { Route } from "../../core/configured/route.ts";
import { targetName } from "../../core/target.ts";
import type { EncodedRequest } from "../../providers/interface/encoded-request.ts";
import type { CacheBypassed, CacheUse } from "../cache/cache-use.ts";
import type { Call } from "../call/call.ts";
import { costEstimate } from "../metering/attempt-estimate.ts";
import type { Fetch } from "./explained-content.ts";
import { explainedRequest } from "./explained-request.ts";
import { DEPRECATED_NAMES, type FittedRequest } from "../fit/fit.ts";
import { masked, maskedCredential, type Masker } from "./masking.ts";
import type { Resolved } from "../plan/resolve-target.ts";
import type { UpstreamRequest } from "../../wire/upstream.ts";

/** What is known of the call at one of its targets. */
export interface PlannedTarget {
  readonly refusal: null;
  readonly why: string;
  readonly fitted: FittedRequest;
  readonly resolved: Resolved;
  readonly route: Route;
  readonly principal: Principal;
  readonly otherNames: readonly string[];
  /** `null` where nothing turns the response cache on. */
  readonly cache: CacheUse | CacheBypassed | null;
  readonly encoded: EncodedRequest;
  /** Write the requests that follow, for the further inputs of a task. */
  readonly further: readonly (() => EncodedRequest)[];
  readonly fetches: readonly Fetch[];
}

export async function explainedTarget(
  planned: PlannedTarget,
  order: number,
  masker: Masker,
  call: Call,
): Promise<JsonObject> {
  const {
    encoded,
    further,
    fetches,
    fitted,
    resolved: { provider, target, credentials },
  } = planned;
  const { request } = fitted;
  const [first] = credentials;
  const signing = { ...target, credential: first === undefined ? null : maskedCredential(first) };
  const shown = (unsigned: UpstreamRequest): Promise<JsonObject> =>
    explainedRequest({ provider, target: signing, unsigned, masker, nowMs: call.context.clock.now() });
  return {
    order,
    target: targetName(target),
    why: planned.why,
    provider: { id: target.providerId, family: target.family, label: provider.label },
    model: target.model,
    facts: { context_tokens: target.facts.contextTokens, max_output_tokens: target.facts.maxOutputTokens },
    credentials: credentials.map(explainedCredential),
    form: explainedForm(fitted),
    parameters: explainedParameters(planned, encoded.mapped ?? []),
    content: [...request.blocks].map(([type, path]) => {
      const { support, note } = effectiveCapability(provider.capabilities, type, target.model);
      return { type, first_at: request.form.pathOf(path, request), support, note: note ?? null };
    }),
    dropped: fitted.dropped,
    warnings: fitted.request.warnings,
    request: await shown(encoded.request),
    ...(further.length > 0 && (await furtherRequests(further, shown, request))),
    estimate: estimate(planned, call),
    cache: explainedCache(planned.cache),
    address_check:
      target.guardedField === null
        ? null
        : {
            field: target.guardedField,
            host: masker.text(new URL(target.baseUrl).host),
            private_addresses: call.snapshot.allowPrivateAddresses ? "allowed" : "refused",
            metadata_addresses: "refused",
          },
    fetches: fetches.map((one) => ({
      ...one,
      path: request.form.pathOf(one.path, request),
      url: masker.url(one.url),
    })),
  };
}

/** How many times as long as the client's own request the further ones may be together: each may repeat a part of it. */
const MOST_REPEATED = 4;

async function furtherRequests(
  further: PlannedTarget["further"],
  shown: (unsigned: UpstreamRequest) => Promise<JsonObject>,
  { source, written }: ChatRequest,
): Promise<JsonObject> {
  let left = MOST_REPEATED * (written ?? source).text.length;
  const requests: JsonObject[] = [];
  for (const write of further) {
    const { request } = write();
    left -= request.body.length;
    if (left < 0) break;
    requests.push(await shown(request));
  }
  const leftOut = further.length - requests.length;
  return { further_requests: requests, ...(leftOut > 0 && { further_requests_left_out: leftOut }) };
}

/** Says whether the target is sent what the client wrote; null where the client wrote a chat completion. */
function explainedForm({ native, translated, request }: FittedRequest): JsonObject | null {
  if (request.written === undefined) return null;
  return native === undefined
    ? { native: false, translated_because: translated ?? null }
    : { native: true, translated_because: null };
}

function explainedCache(use: PlannedTarget["cache"]): JsonObject | null {
  if (use === null) return null;
  return use.kind === "bypassed"
    ? { bypass: use.why }
    : { ttl_s: use.ttlMs / 1000, scope: use.scope, reads: use.reads };
}

function explainedCredential(stored: StoredCredential): JsonObject {
  const shown =
    stored.kind === "key" || stored.kind === "token"
      ? stored.secret
      : stored.kind === "aws_keys"
        ? stored.accessKeyId
        : null;
  return {
    kind: stored.kind,
    shown: shown === null ? null : masked(shown),
    from: stored.fromCaller ? "request" : "configuration",
    weight: stored.weight,
  };
}

const SENT_AS: Readonly<Record<string, CommonParameter>> = Object.fromEntries(
  Object.entries(DEPRECATED_NAMES).map(([name, deprecated]) => [deprecated, name as CommonParameter]),
);

/** Returns each parameter that was sent, in the caller's order, with its disposition. */
function explainedParameters(
  { fitted: { request, dispositions }, resolved: { provider, target } }: PlannedTarget,
  mapped: readonly string[],
): readonly JsonObject[] {
  const names = new Set([...request.source.members.keys(), ...Object.keys(dispositions)]);
  return [...names].flatMap((name) => {
    // a pass-through field may be called `constructor`
    const common =
      (Object.hasOwn(SENT_AS, name) ? SENT_AS[name] : undefined) ??
      (Object.hasOwn(COMMON, name) ? (name as CommonParameter) : null);
    const disposition =
      (Object.hasOwn(dispositions, name) ? dispositions[name] : undefined) ??
      (common === null || isNull(request, name) ? null : NEVER_UNSUPPORTED.has(common) ? "served" : "neutral");
    if (disposition === null) return [];
    const note = common === null ? undefined : effectiveCapability(provider.capabilities, common, target.model).note;
    return [
      {
        name,
        fate: disposition,
        note: note ?? null,
        wire: disposition === "mapped" || disposition === "emulated" ? placesOf(common, mapped) : [],
      },
    ];
  });
}

/**
 * Returns where the encoder put the parameter, under either name where it has two; empty when only the note describes
 * it.
 */
function placesOf(common: CommonParameter | null, mapped: readonly string[]): readonly string[] {
  const placesUnder = (name: string | null | undefined): readonly string[] =>
    mapped
      .filter((mapping) => mapping.startsWith(`${name} -> `))
      .map((mapping) => mapping.slice(mapping.indexOf(" -> ") + 4));
  const own = placesUnder(common);
  return own.length > 0 || common === null ? own : placesUnder(SYNONYMS[common]);
}

/** Whether the field is null, which means "not set". */
function isNull({ source }: ChatRequest, name: string): boolean {
  const span = source.members.get(name);
  return span !== undefined && source.text.slice(span.valueStart, span.valueEnd) === "null";
}

/** A count generates nothing and costs nothing, whatever the prompt of the call that it is for would cost. */
const FREE = { bound: 0, boundFrom: "request", promptCost: 0, completionCost: 0 } as const;

/** Estimates the prompt and the bound of the answer, at the current price. */
function estimate({ fitted: { request }, resolved }: PlannedTarget, call: Call): JsonObject {
  const estimated = costEstimate(request, resolved, call.meter.prices);
  const { promptTokens, bound, boundFrom, choices, price, prompt, completion, promptCost, completionCost } =
    request.form.counts === true ? { ...estimated, ...FREE } : estimated;
  return {
    prompt_tokens: promptTokens,
    completion_tokens_bound: bound,
    completion_tokens_bound_from: boundFrom,
    choices,
    price:
      price === null
        ? null
        : {
            id: price.id,
            prompt: prompt === null ? null : usdPerToken(prompt),
            completion: completion === null ? null : usdPerToken(completion),
          },
    cost_usd: {
      prompt: promptCost === null ? null : usd(promptCost),
      completion_bound: completionCost === null ? null : usd(completionCost),
      total_bound: promptCost === null || completionCost === null ? null : usd(promptCost + completionCost),
    },
  };
}
