// Requests of the gateway to an issuer of OpenID Connect: its discovery document, its keys, its tokens. Their time and the
// size of their answers are bounded, and redirects are not followed.
import { isObject, type Json, type JsonObject } from "../../core/json.ts";
import { withCancellation } from "../../core/concurrency/timeout.ts";
import { readDecoded } from "../../wire/body-bytes.ts";
import type { UpstreamClient, UpstreamRequest } from "../../wire/upstream.ts";

const TIMEOUT_MS = 5_000;
const MAX_ANSWER_BYTES = 1024 * 1024;
const DISCOVERY = "/.well-known/openid-configuration";

/** An issuer that has answered with another status than 200. */
export class IssuerRefusal extends Error {
  readonly status: number;
  constructor(host: string, status: number) {
    super(`${host} answered ${status}`);
    this.name = "IssuerRefusal";
    this.status = status;
  }
}

/** Throws Error, whose message has nothing of the answer's body. */
export async function issuerJson(request: UpstreamRequest, issuer: string, upstream: UpstreamClient): Promise<Json> {
  const limits = { connectTimeoutMs: TIMEOUT_MS, firstByteTimeoutMs: TIMEOUT_MS, betweenBytesTimeoutMs: TIMEOUT_MS };
  return await withCancellation(
    async (signal) => {
      const response = await upstream.send(request, { ...limits, signal, partition: `issuer\n${issuer}` });
      if (response.status !== 200) {
        response.body.cancel();
        throw new IssuerRefusal(new URL(request.url).host, response.status);
      }
      return readDecoded(response.body, MAX_ANSWER_BYTES, (text) => JSON.parse(text) as Json);
    },
    TIMEOUT_MS,
    () => new Error(`no answer within ${TIMEOUT_MS / 1000} s`),
  );
}

export const got = (url: string): UpstreamRequest => ({ method: "GET", url, headers: {}, body: "" });

/** Throws Error, also when the document names another issuer (OpenID Connect Discovery 1.0, 4.3). */
export async function discoveryDocument(issuer: string, upstream: UpstreamClient): Promise<JsonObject> {
  const found = await issuerJson(got(`${issuer.replace(/\/$/, "")}${DISCOVERY}`), issuer, upstream);
  if (!isObject(found) || found["issuer"] !== issuer) throw new Error("its discovery document names another issuer");
  return found;
}
