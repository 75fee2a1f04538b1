// Signs requests with AWS Signature Version 4 in their headers, using @smithy/signature-v4.
// https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html
import { createHash, createHmac, type Hash, type Hmac } from "node:crypto";
import { GatewayError } from "../core/errors.ts";
import type { Credential } from "../core/target.ts";
import type { UpstreamRequest } from "../wire/upstream.ts";
import type { SignContext } from "./provider.ts";

/** Where a signature is valid. */
export interface SigningScope {
  /** The service's name in signatures, which may differ from its name in the address. */
  readonly service: string;
  /** Finds the region, as its first group, in the service's own host names. It is used when no region is set. */
  readonly regionOfHost: RegExp;
}

/** The headers that are signed beside `x-amz-*`. A proxy on the way may change the others. */
const SIGNED_HEADERS = new Set(["host", "content-type"]);

/** Throws GatewayError `invalid_request` when no region is known. */
export async function signAws(
  request: UpstreamRequest,
  credential: Credential,
  { nowMs, settings }: SignContext,
  { service, regionOfHost }: SigningScope,
): Promise<UpstreamRequest> {
  const url = new URL(request.url);
  const region = settings["region"] ?? regionOfHost.exec(url.hostname)?.[1];
  if (region === undefined)
    throw new GatewayError(
      "invalid_request",
      "A signature with AWS keys needs a region: set aws_region_name, or region in the provider's configuration.",
      { param: "aws_region_name" },
    );
  // The library is loaded when the first key pair signs, because most gateways never need it.
  const { SignatureV4 } = await import("@smithy/signature-v4");
  const { secret, accessKeyId = "", sessionToken } = credential;
  const credentials = { accessKeyId, secretAccessKey: secret, ...(sessionToken !== undefined && { sessionToken }) };
  const signer = new SignatureV4({ credentials, region, service, sha256: Sha256, applyChecksum: false });
  const unsigned = {
    method: request.method ?? "POST",
    protocol: url.protocol,
    hostname: url.hostname,
    path: url.pathname,
    query: Object.fromEntries(url.searchParams),
    headers: { ...request.headers, host: url.host },
    body: request.body,
  };
  const unsignableHeaders = new Set(
    Object.keys(request.headers).filter((name) => !SIGNED_HEADERS.has(name) && !name.startsWith("x-amz-")),
  );
  const { headers } = await signer.sign(unsigned, { signingDate: new Date(nowMs), unsignableHeaders });
  // The HTTP client writes Host itself, from the same address.
  const { host: _host, ...signed } = headers as Record<string, string>;
  return { ...request, headers: signed };
}

/** The hash that the signature library calls. With a secret it is a keyed hash (HMAC). */
export class Sha256 {
  readonly #hash: Hash | Hmac;
  constructor(secret?: string | ArrayBuffer | ArrayBufferView) {
    this.#hash = secret === undefined ? createHash("sha256") : createHmac("sha256", bytesOf(secret));
  }
  update(data: string | ArrayBuffer | ArrayBufferView): void {
    this.#hash.update(bytesOf(data));
  }
  digest(): Promise<Uint8Array> {
    return Promise.resolve(new Uint8Array(this.#hash.digest()));
  }
  reset(): void {
    throw new Error("A hash cannot be reset; create a new one for each text.");
  }
}

function bytesOf(data: string | ArrayBuffer | ArrayBufferView): string | Uint8Array {
  if (typeof data === "string") return data;
  return ArrayBuffer.isView(data)
    ? new Uint8Array(data.buffer, data.byteOffset, data.byteLength)
    : new Uint8Array(data);
}
