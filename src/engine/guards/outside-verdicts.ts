// The guard services of one call: asks each about a text once in each place, keeps what they cost and how long they took for the
// record, and turns their findings into matches.
import type { GuardPlace, GuardService, GuardServiceUse } from "../../core/configured/outside-guard.ts";
import type { GuardPolicy } from "../../core/configured/policy.ts";
import type { ServiceQuestion } from "../../providers/interface/judging-form.ts";
import type { CancelSignal } from "../../core/concurrency/cancellation.ts";
import { type Matches, NUMBERS_A_MATCH, type Texts } from "../../guards/guard-search.ts";
import { partOf, stringsOf } from "../../guards/json-strings.ts";
import { GatewayError } from "../../core/errors.ts";
import {
  type GuardServices,
  reasonOf,
  type ServiceVerdict,
  type Span,
  TOO_LONG,
  withoutVerdict,
} from "./outside-guards.ts";
import type { ServiceEndpoint } from "./outside-endpoint.ts";

/** The mask of a service's findings where the guard has none of its own. */
export const SERVICE_MASK = "[masked]";

/** The most characters of one question. */
const MAX_CHARACTERS = 4_194_304;
const MAX_LABELS = 10;

export interface CallServicesOptions {
  /** Whose call it is. */
  readonly tenantId: string;
  readonly services: GuardServices;
  /** Throws GatewayError where the configuration has no such service. */
  readonly endpointOf: (service: GuardService) => ServiceEndpoint;
  /** Receives what was asked. */
  readonly uses: GuardServiceUse[];
  readonly monotonic: () => number;
  /** Measures the time of a wait for somebody else. */
  readonly waiting: <T>(verdict: Promise<T>) => Promise<T>;
}

/** What was found in the texts of one place, by the text. */
type Verdicts = Map<string, readonly Span[]>;

/** What a service has said of texts in the places where it was asked about them: it may judge answers differently. */
type Known = Map<GuardService, Partial<Record<GuardPlace, Verdicts>>>;

export class CallServices {
  readonly #options: CallServicesOptions;
  readonly #known: Known;
  /** The call is over: a verdict of any place serves. */
  readonly #isAfterwards: boolean;

  constructor(options: CallServicesOptions, known: Known = new Map(), isAfterwards = false) {
    this.#options = options;
    this.#known = known;
    this.#isAfterwards = isAfterwards;
  }

  /** The same for what is asked after the end of the call, when its record is written. */
  unrecorded(): CallServices {
    return new CallServices({ ...this.#options, uses: [], waiting: (verdict) => verdict }, this.#known, true);
  }

  /**
   * Returns what the guard's service finds in each text, or why there is no verdict. Rejects only with the reason of the
   * signal.
   */
  async judge(
    { name, guard }: GuardPolicy,
    texts: readonly string[],
    place: GuardPlace,
    signal: CancelSignal | null,
  ): Promise<Pick<ServiceVerdict, "findings" | "failure">> {
    const service = guard.service!;
    const ofService = this.#known.get(service) ?? {};
    this.#known.set(service, ofService);
    const known = (ofService[place] ??= new Map());
    const serving = this.#isAfterwards ? Object.values(ofService) : [known];
    const asked = [...new Set(texts)].filter((text) => text !== "" && !serving.some((one) => one.has(text)));
    if (asked.length > 0) {
      const verdict = await this.#ask(name, service, asked, place, signal);
      if (verdict.findings === null) return verdict;
      for (const [index, text] of asked.entries()) known.set(text, verdict.findings[index]!);
    }
    return { findings: texts.map((text) => serving.flatMap((one) => one.get(text) ?? [])), failure: null };
  }

  async #ask(
    policy: string,
    service: GuardService,
    texts: readonly string[],
    place: GuardPlace,
    signal: CancelSignal | null,
  ): Promise<ServiceVerdict> {
    const { monotonic } = this.#options;
    const use = this.#useOf(policy, service, place);
    const startMs = monotonic();
    const verdict = await this.#verdict(service, { texts, place, policy }, signal);
    const tookMs = monotonic() - startMs;
    use.requests += verdict.requests;
    use.characters += verdict.characters;
    use.waitedMs += tookMs;
    use.slowestMs = Math.max(use.slowestMs, tookMs);
    use.found = [...new Set([...use.found, ...verdict.labels])].slice(0, MAX_LABELS);
    if (verdict.findings === null) use.failures += 1;
    if (service.price !== null) use.costNanoUsd = (use.costNanoUsd ?? 0) + costOf(verdict, service.price);
    return verdict;
  }

  async #verdict(
    service: GuardService,
    question: ServiceQuestion,
    signal: CancelSignal | null,
  ): Promise<ServiceVerdict> {
    const { services, endpointOf, waiting, tenantId } = this.#options;
    if (question.texts.reduce((sum, { length }) => sum + length, 0) > MAX_CHARACTERS) return withoutVerdict(TOO_LONG);
    try {
      return await waiting(services.ask(service, endpointOf(service), question, { tenantId, signal }));
    } catch (thrown) {
      if (signal?.aborted !== true && thrown instanceof GatewayError) return withoutVerdict(reasonOf(thrown));
      throw thrown;
    }
  }

  #useOf(policy: string, { place: { type }, price }: GuardService, place: GuardPlace): GuardServiceUse {
    const { uses } = this.#options;
    const known = uses.find((use) => use.policy === policy && use.place === place);
    if (known !== undefined) return known;
    const use: GuardServiceUse = {
      policy,
      type,
      place,
      requests: 0,
      characters: 0,
      waitedMs: 0,
      slowestMs: 0,
      found: [],
      failures: 0,
      costNanoUsd: price === null ? null : 0,
    };
    uses.push(use);
    return use;
  }
}

function costOf(
  { requests, thousands }: ServiceVerdict,
  { requestNanoUsd, thousandCharactersNanoUsd }: NonNullable<GuardService["price"]>,
): number {
  return requests * requestNanoUsd + thousands * thousandCharactersNanoUsd;
}

/** Adds the verdicts of services to what the other guards found. `local` has the ranks among guards without a service. */
export function withVerdicts(
  guards: readonly GuardPolicy[],
  { plain, json, replaceable = plain.length, inJson = 0 }: Texts,
  local: Matches | null,
  verdicts: ReadonlyMap<GuardPolicy, Pick<ServiceVerdict, "findings" | "failure">>,
): Matches {
  const own = guards.flatMap((policy, rank) => (policy.guard.service === null ? [rank] : []));
  const nested = new Map(plain.slice(replaceable, replaceable + inJson).map((text, at) => [text, replaceable + at]));
  const numbers: number[] = [];
  const masks = [...(local?.masks ?? [])];
  const unsearched = (local?.unsearched ?? own.keys().toArray()).map((rank) => own[rank]!);
  const reasons = new Map<number, string>();
  if (local !== null)
    for (const [at, number] of local.numbers.entries())
      numbers.push(at % NUMBERS_A_MATCH === 1 ? own[number]! : number);
  for (const [rank, policy] of guards.entries()) {
    const verdict = verdicts.get(policy);
    if (verdict === undefined) continue;
    if (verdict.findings === null) {
      unsearched.push(rank);
      reasons.set(rank, verdict.failure!);
      continue;
    }
    const mask = masks.push(policy.guard.mask ?? SERVICE_MASK) - 1;
    for (const [index, spans] of verdict.findings.entries()) {
      const text = index < replaceable ? index : index - replaceable + plain.length;
      for (const { start, end } of spans) numbers.push(text, rank, start, end, mask);
      if (nested.size === 0 || index < replaceable || spans.length === 0) continue;
      for (const [at, parts] of nestedIn(json[index - replaceable]!, spans, nested))
        for (const { start, end } of parts) numbers.push(at, rank, start, end, mask);
    }
  }
  return { numbers: Int32Array.from(numbers), masks, unsearched, reasons };
}

/** Returns what was found in a JSON text by the texts of its values, which are asked for by their index. */
function nestedIn(
  json: string,
  spans: readonly Span[],
  nested: ReadonlyMap<string, number>,
): ReadonlyMap<number, readonly Span[]> {
  const found = new Map<number, readonly Span[]>();
  for (const one of stringsOf(json)) {
    const at = nested.get(one.text);
    const parts = at === undefined ? [] : spans.flatMap((span) => partOf(json, one, span) ?? []);
    if (parts.length > 0) found.set(at!, [...(found.get(at!) ?? []), ...parts]);
  }
  return found;
}

/** The texts that a service judges, in the order in which `withVerdicts` expects the findings. */
export function judgedTexts({ plain, replaceable = plain.length, json }: Texts): readonly string[] {
  return [...plain.slice(0, replaceable), ...json];
}
