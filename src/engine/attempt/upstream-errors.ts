// What the client sees of a provider's failure (promise 7.8): the kind of the failure decides the code, the provider's
// message is kept, and keys and hosts are removed.

// Decides (targets and attempts): What does the client see of a provider's failure? By: `failureError`. Also: codes:
// `routing/plan/verdict.ts` (`REFUSALS`, `FAULTS`); statuses: `core/errors.ts`. Rule: The code of its kind, and the
// message of the provider without keys and hosts. Where the credential or the quota of the gateway is at fault, only
// the log has the message.
// Decides (targets and attempts): Where are keys removed from what a provider says? By: `redacted` for errors. Also:
// answers: `engine/answer/answer-keys.ts`, passed ones: `engine/native/native-keys.ts`; how a key may be spelled:
// `core/text/secret-spellings.ts`. Rule: From errors, every secret of 8 characters and parts of one; from answers, the
// operator's keys of 16 characters that have letters and digits.
import { type ErrorDetails, GatewayError } from "../../core/errors.ts";
import { memoizeBounded, memoizePerObject } from "../../core/memoization.ts";
import { secretRemover } from "../../core/text/redaction.ts";
import { type Credential, secretsOf, type Target } from "../../core/target.ts";
import type { Provider } from "../../providers/interface/provider.ts";
import {
  MalformedAnswer,
  RequestBeyondLimit,
  StreamError,
  type UpstreamFailure,
} from "../../providers/interface/upstream-failure.ts";
import { codeOfRefusal, FAULTS } from "../../routing/plan/verdict.ts";
import { formatRetryAfter } from "../../wire/retry-after.ts";
import { UpstreamFault } from "../../wire/upstream.ts";

/** Used when a provider names no time, because common clients give up at once without one. */
const DEFAULT_RETRY_AFTER_MS = 1000;
const MAX_MESSAGE = 2000;
/**
 * The most characters of a provider's message that are searched for secrets, which takes about a millisecond. Less of
 * it is reported.
 */
export const MAX_SEARCHED_CHARACTERS = 16 * 1024;
const MAX_FIELD = 200;
/** The number of addresses whose search is kept. */
const MAX_HOSTS = 1_000;

export interface FailureContext {
  readonly target: Target;
  readonly provider: Provider;
  readonly retryAfterMs: number | null;
  /** The status of the provider's response; `null` when the failure was inside a response with status 200. */
  readonly status: number | null;
  /** Whether the provider was sent what the client wrote, so that it names the client's own fields. */
  readonly isNative?: boolean;
}

export function failureError(failure: UpstreamFailure, context: FailureContext): GatewayError {
  // without a credential, an error of an address of the caller's own means that the caller has to send one
  const isCallers = context.target.credential?.fromCaller ?? context.target.isCallersAddress;
  const code = codeOfRefusal(failure.class, context.status, isCallers);
  const retryAfter = context.retryAfterMs ?? failure.retryAfterMs ?? DEFAULT_RETRY_AFTER_MS;
  if (code === "upstream_authentication" || code === "upstream_quota") {
    const what =
      code === "upstream_quota"
        ? "reports that the quota of the gateway's account is used up"
        : "refused the gateway's own credential";
    return new GatewayError(
      code,
      `${context.provider.label} ${what}. The provider's message is in the gateway's log under the trace id.`,
      { detail: redacted(failure.message, context.target) },
    );
  }
  const reported = redacted(failure.message, context.target).slice(0, MAX_MESSAGE);
  if (code === "rate_limit_exceeded") return rateLimited(reported, retryAfter, failure, context);
  const message =
    code === "context_length_exceeded" && !/maximum context length/i.test(reported)
      ? `The conversation exceeds the model's maximum context length. ${reported}`
      : reported;
  return new GatewayError(code, message, {
    ...(code === "upstream_invalid_request" && namedField(failure, context)),
    ...(code === "upstream_overloaded" && { headers: formatRetryAfter(retryAfter) }),
  });
}

function rateLimited(
  reported: string,
  retryAfterMs: number,
  failure: UpstreamFailure,
  context: FailureContext,
): GatewayError {
  const headers = formatRetryAfter(retryAfterMs);
  const message = /(try again|retry) (in|after) \d/i.test(reported)
    ? reported
    : `${reported.replace(/[.\s]*$/, "")}. Please try again in ${Math.ceil(retryAfterMs / 1000)} s.`;
  return new GatewayError("rate_limit_exceeded", message, {
    headers,
    ...namedField(failure, context),
    ...(failure.isOfRequest === true && { cause: new RequestBeyondLimit() }),
  });
}

/** Turns any failure of an attempt into an error of the catalogue; errors of the gateway are returned unchanged. */
export function attemptError(thrown: unknown, context: FailureContext): unknown {
  if (thrown instanceof StreamError) return failureError(thrown.failure, context);
  if (thrown instanceof MalformedAnswer)
    return new GatewayError("upstream_invalid_response", redacted(thrown.message, context.target), { cause: thrown });
  if (thrown instanceof UpstreamFault) {
    const clock = thrown.kind === "timeout" ? ` (${redacted(thrown.message, context.target)})` : "";
    const { code, says } = FAULTS[thrown.kind];
    return new GatewayError(code, `${context.provider.label} ${says}${clock}.`, {
      detail: thrown.message,
      cause: thrown,
    });
  }
  return thrown;
}

function namedField(
  { param }: UpstreamFailure,
  { target, provider, isNative = false }: FailureContext,
): Pick<ErrorDetails, "param" | "isWritten"> {
  if (param === null) return {};
  const field = redacted(param, target).slice(0, MAX_FIELD);
  return { param: provider.chatFieldOf?.(field, target.model) ?? field, isWritten: isNative };
}

/**
 * Returns a provider's message without any secret of the credential and without the configured address of the operator
 * or the caller.
 */
export function redacted(text: string, target: Target): string {
  const searched = text.length > MAX_SEARCHED_CHARACTERS ? text.slice(0, MAX_SEARCHED_CHARACTERS) : text;
  const clean = target.credential === null ? searched : removerOf(target.credential)(searched);
  return hostRemover(target.baseUrl)(clean);
}

const removerOf = memoizePerObject((credential: Credential) => secretRemover(secretsOf(credential)));

const hostRemover = memoizeBounded(MAX_HOSTS, (baseUrl: string): ((text: string) => string) => {
  const { host, hostname } = new URL(baseUrl);
  return (text) => {
    const clean = /[.:]/.test(host) ? text.replaceAll(host, "[host]") : text;
    return hostname.includes(".") ? clean.replaceAll(hostname, "[host]") : clean;
  };
});
