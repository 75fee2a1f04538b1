// Puts a key into the header in which a provider expects it.
import type { Credential } from "../../core/target.ts";
import type { UpstreamRequest } from "../../wire/upstream.ts";

export interface KeyHeader {
  /** In lower case. */
  readonly header: string;
  /** What precedes the key. */
  readonly prefix: string;
}

export const BEARER: KeyHeader = { header: "authorization", prefix: "Bearer " };

/**
 * Returns the `sign` of a provider whose keys go into this header. A token from a token service is always a bearer
 * token.
 */
export function keySigner(
  keyHeader: KeyHeader,
): (request: UpstreamRequest, credential: Credential | null) => UpstreamRequest {
  return (request, credential) => {
    if (credential === null) return request;
    const { header, prefix } = credential.kind === "token" ? BEARER : keyHeader;
    return { ...request, headers: { ...request.headers, [header]: prefix + credential.secret } };
  };
}
