// One exchange with a token service over the upstream port: a form is sent, a bearer token comes back (RFC 6749, 4 and
// 5; RFC 7523). It is bounded in time and size, repeated once when the service failed, and never redirected. No error
// message contains a secret.
import type { Cancellation } from "../core/concurrency/cancellation.ts";
import { withCancellation } from "../core/concurrency/timeout.ts";
import { isObject, type JsonObject, jsonIn } from "../core/json.ts";
import { withoutSecrets } from "../core/text/redaction.ts";
import { readDecoded } from "../wire/body-bytes.ts";
import { type UpstreamClient, UpstreamFault } from "../wire/upstream.ts";

/** Authenticates to the provider until `expiresAtMs`. */
export interface Issued {
  readonly kind: "token" | "aws";
  readonly secret: string;
  readonly accessKeyId?: string;
  readonly sessionToken?: string;
  readonly issuedAtMs: number;
  readonly expiresAtMs: number;
}

/**
 * `refused`: the credential is not valid, and a repetition would not help. `failed`: the service did not answer as it
 * should. `unusable`: the configured credential cannot be used.
 */
export type ExchangeFaultKind = "refused" | "failed" | "timeout" | "unusable";

export class ExchangeFault extends Error {
  readonly kind: ExchangeFaultKind;
  constructor(kind: ExchangeFaultKind, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = "ExchangeFault";
    this.kind = kind;
  }
}

export interface TokenRequest {
  readonly url: string;
  readonly form: Readonly<Record<string, string>>;
  /** The header of that name, for forms that do not identify the client. */
  readonly authorization?: string;
  /**
   * Secrets of the credential. They are removed from every message, and separate its connections from those of others.
   */
  readonly secrets: readonly string[];
  /** The result of the address guard for an address that the operator has not set. */
  readonly pinnedAddress?: string | undefined;
}

const MAX_ANSWER_BYTES = 64 * 1024;
const MAX_MESSAGE_CHARACTERS = 500;
const CONNECT_TIMEOUT_MS = 5000;
/** For a whole exchange, including its repetition. */
export const EXCHANGE_TIMEOUT_MS = 10_000;
/** The assumed life of a token when an answer does not state it. */
const DEFAULT_LIFE_S = 300;
const MAX_LIFE_S = 86_400;
const TOKEN = /^[\x21-\x7e]{1,16384}$/;

/** Throws ExchangeFault. */
export async function exchange(
  request: TokenRequest,
  upstream: UpstreamClient,
  now: () => number,
  timeoutMs = EXCHANGE_TIMEOUT_MS,
): Promise<Issued> {
  return await withCancellation(
    (signal) =>
      requestToken(request, upstream, now, signal).catch((thrown: unknown) => {
        if (signal.aborted || !(thrown instanceof ExchangeFault) || thrown.kind !== "failed") throw thrown;
        return requestToken(request, upstream, now, signal);
      }),
    timeoutMs,
    () => new ExchangeFault("timeout", `the token service did not answer within ${timeoutMs / 1000} s`),
  );
}

async function requestToken(
  { url, form, authorization, secrets, pinnedAddress }: TokenRequest,
  upstream: UpstreamClient,
  now: () => number,
  signal: Cancellation,
): Promise<Issued> {
  const requestedAtMs = now();
  const limits = {
    connectTimeoutMs: CONNECT_TIMEOUT_MS,
    firstByteTimeoutMs: EXCHANGE_TIMEOUT_MS,
    betweenBytesTimeoutMs: EXCHANGE_TIMEOUT_MS,
  };
  try {
    const headers = {
      "content-type": "application/x-www-form-urlencoded",
      accept: "application/json",
      ...(authorization !== undefined && { authorization }),
    };
    const response = await upstream.send(
      { url, headers, body: new URLSearchParams(form).toString() },
      { ...limits, signal, pinnedAddress, partition: `token\n${secrets.join("\n")}` },
    );
    if (response.status >= 300 && response.status < 400) {
      response.body.cancel();
      throw new ExchangeFault(
        "failed",
        `the token service answered with a redirect (${response.status}), which is not followed`,
      );
    }
    return await readDecoded(response.body, MAX_ANSWER_BYTES, (text) => {
      const answer = parsed(text);
      if (response.status < 200 || response.status > 299) throw refusal(response.status, answer, secrets);
      return issued(answer, requestedAtMs);
    });
  } catch (thrown) {
    if (thrown instanceof UpstreamFault)
      throw new ExchangeFault(
        thrown.kind === "timeout" ? "timeout" : "failed",
        `the token service: ${withoutSecrets(thrown.message, secrets)}`,
        thrown,
      );
    throw thrown;
  }
}

type Answer = JsonObject;

function parsed(text: string): Answer {
  const value = jsonIn(text);
  return isObject(value) ? value : {};
}

/**
 * Uses `error` and `error_description` of RFC 6749, or IBM's `errorCode` and `errorMessage`. No other text of an answer
 * is repeated.
 */
function refusal(status: number, answer: Answer, secrets: readonly string[]): ExchangeFault {
  const parts = ["error", "error_description", "errorCode", "errorMessage"].flatMap((name) =>
    typeof answer[name] === "string" ? [answer[name]] : [],
  );
  const description = withoutSecrets(parts.join(": "), secrets).slice(0, MAX_MESSAGE_CHARACTERS);
  const refused = status >= 400 && status < 500 && status !== 408 && status !== 429;
  return new ExchangeFault(
    refused ? "refused" : "failed",
    `the token service answered ${status}${description === "" ? "" : `: ${description}`}`,
  );
}

function issued(answer: Answer, requestedAtMs: number): Issued {
  const token = answer["access_token"];
  if (typeof token !== "string" || !TOKEN.test(token))
    throw new ExchangeFault("failed", "the token service's answer has no access_token");
  // Some versions of Entra write the seconds as text.
  const seconds = Number(answer["expires_in"] ?? DEFAULT_LIFE_S);
  const lifeS = seconds > 0 ? Math.min(seconds, MAX_LIFE_S) : DEFAULT_LIFE_S;
  return { kind: "token", secret: token, issuedAtMs: requestedAtMs, expiresAtMs: requestedAtMs + lifeS * 1000 };
}
