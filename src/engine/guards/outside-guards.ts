// Asks guard services for their verdicts (promise 16.4). Each service has a bound of requests in flight and a circuit
// breaker; each question has one time limit. Whatever goes wrong becomes the reason for which there is no verdict.

// Decides (the answer): What if a guard's service gives no verdict? By: `openGuardServices`. Also:
// `guards/guarded-text.ts` (`blocksUnsearched`). Rule: `on_error` decides; a service that failed often is not asked for a
// while.
import { BoundedCache } from "../../core/bounded-cache.ts";
import type { Cancellation, CancelSignal } from "../../core/concurrency/cancellation.ts";
import { untilOver, withCancellation } from "../../core/concurrency/timeout.ts";
import type { Clock } from "../../core/clock.ts";
import { MOST_TRIED } from "../../core/configured/credential.ts";
import type { GuardService } from "../../core/configured/outside-guard.ts";
import { DEFAULT_BREAKER } from "../../core/configured/route.ts";
import { GatewayError } from "../../core/errors.ts";
import { batchesOf, type Part } from "../../guards/outside/text-batches.ts";
import {
  MAX_FINDINGS,
  NonsenseAnswer,
  type ServiceQuestion,
  TOO_MANY_FINDINGS,
} from "../../providers/interface/judging-form.ts";
import { openConcurrency } from "../../core/concurrency/slots.ts";
import { inTurn } from "../../core/concurrency/slot-turn.ts";
import { type Breaker, enterBreaker, leaveBreaker, newBreaker, phaseOf } from "../../routing/health/breaker.ts";
import { checkAddress } from "../../wire/address-guard.ts";
import { parseJson } from "../../wire/json/json.ts";
import { messageAbout, type UpstreamClient, UpstreamFault } from "../../wire/upstream.ts";
import type { ServiceEndpoint, ServiceRequest } from "./outside-endpoint.ts";

/** A stretch of a text in UTF-16 units. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

export interface ServiceVerdict {
  /** For each text; `null` where there is no verdict. */
  readonly findings: readonly (readonly Span[])[] | null;
  /** Why there is no verdict. */
  readonly failure: string | null;
  /** What was found, by the service's own names, without duplicates. */
  readonly labels: readonly string[];
  /** What was sent. */
  readonly requests: number;
  readonly characters: number;
  /** For each request, its characters in thousands, rounded up, added up: what prices are for. */
  readonly thousands: number;
}

export type GuardServices = ReturnType<typeof openGuardServices>;

/** The call whose texts are judged. */
export interface ServiceAsker {
  readonly tenantId: string;
  readonly signal: CancelSignal | null;
}

export interface GuardServicesOptions {
  readonly upstream: UpstreamClient;
  readonly clock: Pick<Clock, "monotonic">;
  readonly allowPrivateAddresses: () => boolean;
}

const MAX_ANSWER_BYTES = 4 * 1024 * 1024;
const MAX_ERROR_BYTES = 64 * 1024;
/** The most requests of one question. */
const MAX_REQUESTS = 256;
/** The most breakers that are remembered: the one that was used longest ago is forgotten first. */
const MOST_BREAKERS = 10_000;
/** Requests that wait for a slot of one service; each waits for the `timeout_s` of its service at most. */
const MOST_WAITING = 10_000;

class NoVerdict extends Error {
  /** `late`: the time of the question was over. `no_turn`: too many requests wait. */
  readonly kind: "failed" | "late" | "no_turn";

  constructor(message: string, kind: NoVerdict["kind"] = "failed") {
    super(message);
    this.kind = kind;
  }
}
/** A service that had the requests of a question for this share of its time, and gave no verdict, has failed. */
const FAIR_SHARE = 0.5;

export function openGuardServices(options: GuardServicesOptions) {
  const { clock } = options;
  const slots = openConcurrency();
  const breakers = new BoundedCache<string, Breaker>(MOST_BREAKERS);
  /** When a service last gave an answer that could be used, to whomever, by its key. */
  const answeredMs = new BoundedCache<string, number>(MOST_BREAKERS);
  return {
    /** Rejects only with the reason of the signal. */
    async ask(
      service: GuardService,
      endpoint: ServiceEndpoint,
      question: ServiceQuestion,
      { tenantId, signal: callSignal }: ServiceAsker,
    ): Promise<ServiceVerdict> {
      callSignal?.throwIfAborted();
      // texts of one tenant, on which a service fails, do not keep the others from it; and what was known of a provider's
      // account goes with the account
      const breakerKey = `${service.key} ${tenantId} ${endpoint.account}`;
      const breaker = breakers.get(breakerKey) ?? newBreaker(DEFAULT_BREAKER);
      breakers.set(breakerKey, breaker);
      const phase = phaseOf(breaker, clock.monotonic());
      if (phase === "open" || phase === "probing") return withoutVerdict(OPEN);
      const batches = batchesOf(question.texts, endpoint);
      if (batches.length > MAX_REQUESTS) return withoutVerdict(TOO_LONG);
      const beganMs = clock.monotonic();
      const probe = enterBreaker(breaker, beganMs);
      const sent: Sent = { requests: 0, characters: 0, thousands: 0 };
      const atService = new ServiceTime(clock);
      const answered = (): void => answeredMs.set(service.key, clock.monotonic());
      const { key, timeoutMs, maxConcurrent: max } = service;
      const late = (): Error => new NoVerdict(`the service gave no verdict within ${timeoutMs / 1000} s`, "late");
      const noTurn = (): Error => new NoVerdict("too many requests wait for the service", "no_turn");
      const asked = (parts: readonly Part[], signal: Cancellation): Promise<Found> =>
        inTurn(
          slots,
          { key, tenant: tenantId, max, queueMax: MOST_WAITING },
          noTurn,
          () => atService.during(() => askOne(parts, { service, endpoint, question, signal, sent, answered }, options)),
          (coming) => untilOver(coming, signal),
        );
      const judged = async (signal: Cancellation): Promise<readonly Found[]> =>
        Promise.all(batches.map((parts) => asked(parts, signal)));
      try {
        const verdict = verdictOf(question.texts.length, await withCancellation(judged, timeoutMs, late, callSignal));
        leaveBreaker(breaker, "success", clock.monotonic(), probe);
        return { ...verdict, ...sent };
      } catch (thrown) {
        // a question that waited for others says nothing about the service, as long as it gives answers meanwhile
        const kind = thrown instanceof NoVerdict ? thrown.kind : "failed";
        const hasOnlyWaited =
          kind === "no_turn" ||
          (kind === "late" &&
            atService.ms < timeoutMs * FAIR_SHARE &&
            (answeredMs.get(service.key) ?? Number.NEGATIVE_INFINITY) >= beganMs);
        const isFault = !hasOnlyWaited && callSignal?.aborted !== true;
        leaveBreaker(breaker, isFault ? "upstream_fault" : "cancelled", clock.monotonic(), probe);
        callSignal?.throwIfAborted();
        return { ...withoutVerdict(reasonOf(thrown)), ...sent };
      }
    },
  };
}

/** The time in which a service has at least one request of a question. */
class ServiceTime {
  readonly #clock: Pick<Clock, "monotonic">;
  #inside = 0;
  #sinceMs = 0;
  #earlierMs = 0;

  constructor(clock: Pick<Clock, "monotonic">) {
    this.#clock = clock;
  }

  get ms(): number {
    return this.#earlierMs + (this.#inside === 0 ? 0 : this.#clock.monotonic() - this.#sinceMs);
  }

  async during<T>(work: () => Promise<T>): Promise<T> {
    if (this.#inside === 0) this.#sinceMs = this.#clock.monotonic();
    this.#inside += 1;
    try {
      return await work();
    } finally {
      if (this.#inside === 1) this.#earlierMs = this.ms;
      this.#inside -= 1;
    }
  }
}

/** What the requests of one question have in common. */
interface Asking {
  readonly service: GuardService;
  readonly endpoint: ServiceEndpoint;
  readonly question: ServiceQuestion;
  readonly signal: Cancellation;
  readonly sent: Sent;
  /** Called when an answer can be used. */
  readonly answered: () => void;
}

interface Sent {
  requests: number;
  characters: number;
  thousands: number;
}

/** The answer to one request. */
interface Found {
  readonly parts: readonly Part[];
  readonly findings: ReturnType<ServiceEndpoint["decode"]>;
}

async function askOne(
  parts: readonly Part[],
  { service, endpoint, question, signal, sent, answered }: Asking,
  options: GuardServicesOptions,
): Promise<Found> {
  const texts = parts.map(({ part }) => part);
  const characters = texts.reduce((sum, { length }) => sum + length, 0);
  for (let times = 1; ; times++) {
    const request = await endpoint.request({ ...question, texts }, signal);
    sent.requests += 1;
    sent.characters += characters;
    sent.thousands += Math.ceil(characters / 1000);
    const answer = await exchange(request, service, endpoint.guarded, signal, options);
    if (typeof answer === "string") {
      const findings = endpoint.decode(jsonOf(answer), texts);
      answered();
      return { parts, findings };
    }
    if (!answer.mayGoOn || times === MOST_TRIED)
      throw new NoVerdict(`the service answered with the status ${answer.status}`);
  }
}

/** The service refused; `mayGoOn` says whether another credential of its provider may do. */
interface Refusal {
  readonly status: number;
  readonly mayGoOn: boolean;
}

async function exchange(
  { request, refused }: ServiceRequest,
  { timeoutMs, key }: GuardService,
  guarded: boolean,
  signal: Cancellation,
  { upstream, allowPrivateAddresses }: GuardServicesOptions,
): Promise<string | Refusal> {
  const checked = guarded
    ? await untilOver(
        checkAddress(request.url, { allowPrivate: allowPrivateAddresses(), param: "guard.service.url" }),
        signal,
      )
    : undefined;
  const { status, body } = await upstream.send(request, {
    connectTimeoutMs: timeoutMs,
    firstByteTimeoutMs: timeoutMs,
    betweenBytesTimeoutMs: timeoutMs,
    signal,
    partition: `guard ${key}`,
    pinnedAddress: checked?.pinnedAddress,
  });
  try {
    if (status < 200 || status > 299) {
      const text = await body.text(MAX_ERROR_BYTES).catch(() => "");
      return { status, mayGoOn: refused?.({ status, body: text }) === true };
    }
    const text = await body.text(MAX_ANSWER_BYTES);
    body.accept();
    return text;
  } finally {
    body.cancel();
  }
}

/** Joins what was found in parts of texts, by the texts. */
function verdictOf(textCount: number, found: readonly Found[]): Omit<ServiceVerdict, keyof Sent> {
  const findings: Span[][] = Array.from({ length: textCount }, () => []);
  let count = 0;
  for (const one of found)
    for (const { text, span } of one.findings)
      for (const part of text === null ? one.parts : [one.parts[text]!]) {
        if ((count += 1) > MAX_FINDINGS) throw new NonsenseAnswer(TOO_MANY_FINDINGS);
        const place = placeOf(part, span);
        if (place !== null) findings[part.text]!.push(place);
      }
  const labels = new Set(found.flatMap((one) => one.findings.map(({ label }) => label)));
  return { findings, failure: null, labels: [...labels] };
}

const OPEN = "the service failed too often and is not asked for a while";
/** Why there is no verdict on texts beyond the bounds of one question. */
export const TOO_LONG = "the texts are longer than a service is asked about";

/** Says that there is no verdict, of a question that was not sent. */
export function withoutVerdict(failure: string): ServiceVerdict {
  return { findings: null, failure, labels: [], requests: 0, characters: 0, thousands: 0 };
}

/** An empty text has nothing that could be found. */
function placeOf({ offset, part }: Part, span: Span | null): Span | null {
  const { start, end } = span ?? { start: 0, end: part.length };
  return end === 0 ? null : { start: offset + start, end: offset + end };
}

function jsonOf(text: string) {
  try {
    return parseJson(text);
  } catch {
    throw new NonsenseAnswer("is not JSON");
  }
}

/** Says why there is no verdict. */
export function reasonOf(thrown: unknown): string {
  if (thrown instanceof NoVerdict) return thrown.message;
  if (thrown instanceof NonsenseAnswer) return `the service's answer ${thrown.message}`;
  if (thrown instanceof UpstreamFault || thrown instanceof GatewayError)
    return `the service could not be asked: ${messageAbout("the service", thrown)}`;
  return `the service could not be asked: ${String(thrown)}`;
}
