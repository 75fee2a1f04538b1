// Signs requests with AWS Signature Version 4 in their headers.
// https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html
import { createHmac, hash } from "node:crypto";
import { memoizeBounded } from "../../core/memoization.ts";
import { invalidRequest } from "../../core/refusals.ts";
import type { Credential } from "../../core/target.ts";
import type { UpstreamRequest } from "../../wire/upstream.ts";
import type { Provider, SignContext } from "../interface/provider.ts";

/** Where a signature is valid. */
export interface SigningScope {
  /** The service's name in signatures, which may differ from its name in the address. */
  readonly service: string;
  /** Finds the region, as its first group, in the service's own host names. It is used when no region is set. */
  readonly regionOfHost: RegExp;
}

/** The headers that are signed beside `x-amz-*`. A proxy on the way may change the others. */
const SIGNED_HEADERS = new Set(["host", "content-type"]);
const ALGORITHM = "AWS4-HMAC-SHA256";

/** The region of addresses and signatures. */
export const AWS_REGION: Provider["settings"][number] = {
  name: "region",
  variables: ["AWS_REGION", "AWS_DEFAULT_REGION"],
  field: "aws_region_name",
  meaning: "AWS region, used in the URL and in signatures.",
};

/** Returns the `sign` of a provider whose AWS keys sign requests. `signWithKey` is for credentials of other kinds. */
export function awsSigner(scope: SigningScope, signWithKey: Provider["sign"]): Provider["sign"] {
  return (request, credential, context) =>
    credential?.kind === "aws"
      ? signAws(request, credential, context, scope)
      : signWithKey(request, credential, context);
}

/** Throws GatewayError `invalid_request` when no region is known. */
function signAws(
  request: UpstreamRequest,
  { secret, accessKeyId = "", sessionToken }: Credential,
  { nowMs, settings }: SignContext,
  { service, regionOfHost }: SigningScope,
): UpstreamRequest {
  const address = partsOf(request.url);
  const region = settings["region"] ?? regionOfHost.exec(address.hostname)?.[1];
  if (region === undefined)
    throw invalidRequest(
      "aws_region_name",
      "A signature with AWS keys needs a region: set aws_region_name, or region in the provider's configuration.",
    );
  const time = timeText(nowMs);
  const added: Record<string, string> = { "x-amz-date": time };
  if (sessionToken !== undefined) added["x-amz-security-token"] = sessionToken;
  const signed: Record<string, string> = { host: address.host, ...added };
  for (const name in request.headers)
    if (SIGNED_HEADERS.has(name) || name.startsWith("x-amz-")) signed[name] = request.headers[name]!;
  const { text, names } = canonicalRequest({
    method: request.method ?? "POST",
    path: address.path,
    query: address.query,
    headers: signed,
    body: request.body,
  });
  const scope = { date: time.slice(0, 8), region, service };
  const signature = signatureOf(text, time, scope, secret);
  const authorization = `${ALGORITHM} Credential=${accessKeyId}/${scopeText(scope)}, SignedHeaders=${names}, Signature=${signature}`;
  return { ...request, headers: { ...request.headers, ...added, authorization } };
}

/** A request in the form in which it is signed. */
export interface CanonicalParts {
  readonly method: string;
  /** The canonical path. */
  readonly path: string;
  /** The canonical query. */
  readonly query: string;
  /** The headers that are signed, by lower-case name. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Returns the canonical request, and the names of the headers that it covers. */
export function canonicalRequest({ method, path, query, headers, body }: CanonicalParts): {
  readonly text: string;
  readonly names: string;
} {
  const sorted = Object.keys(headers).toSorted();
  const names = sorted.join(";");
  let lines = "";
  for (const name of sorted) lines += `${name}:${headers[name]!.trim().replaceAll(/\s+/g, " ")}\n`;
  return { text: `${method}\n${path}\n${query}\n${lines}\n${names}\n${sha256(body)}`, names };
}

/** `date` is `YYYYMMDD`. */
export interface CredentialScope {
  readonly date: string;
  readonly region: string;
  readonly service: string;
}

function scopeText({ date, region, service }: CredentialScope): string {
  return `${date}/${region}/${service}/aws4_request`;
}

/** Returns the signature in hex. `time` is `YYYYMMDDTHHMMSSZ`. */
export function signatureOf(canonical: string, time: string, scope: CredentialScope, secret: string): string {
  const text = `${ALGORITHM}\n${time}\n${scopeText(scope)}\n${sha256(canonical)}`;
  return hmac(signingKey({ ...scope, secret }), text).toString("hex");
}

/** A key is valid for a day. */
const MAX_KEYS = 64;
const signingKey = memoizeBounded(
  MAX_KEYS,
  ({ date, region, service, secret }: CredentialScope & { readonly secret: string }): Buffer =>
    hmac(hmac(hmac(hmac(`AWS4${secret}`, date), region), service), "aws4_request"),
  ({ date, region, service, secret }) => [date, region, service, secret].join("\n"),
);

/** The path as the HTTP client sends it is encoded once more, without empty segments and those of dots. */
export function canonicalPath(path: string): string {
  const kept: string[] = [];
  for (const segment of path.split("/")) {
    if (segment === "..") kept.pop();
    else if (segment !== "" && segment !== ".") kept.push(segment);
  }
  const end = kept.length > 0 && path.endsWith("/") ? "/" : "";
  return `/${kept.map(awsEncoded).join("/")}${end}`;
}

/** Sorted by name, and the values of one name by value. */
export function canonicalQuery(query: Iterable<readonly [name: string, value: string]>): string {
  return Array.from(query, ([name, value]) => [awsEncoded(name), awsEncoded(value)] as const)
    .toSorted(([one, first], [other, second]) => order(one, other) || order(first, second))
    .map((pair) => pair.join("="))
    .join("&");
}

function order(one: string, other: string): number {
  return one < other ? -1 : Number(one > other);
}

/** AWS's own clients encode every character except the unreserved ones, also in ids that are ARNs. */
export function awsEncoded(text: string): string {
  return encodeURIComponent(text).replaceAll(/[!'()*]/g, (one) => `%${one.charCodeAt(0).toString(16).toUpperCase()}`);
}

/** Callers choose the names of models, which are in the path. */
const MAX_ADDRESSES = 256;
const partsOf = memoizeBounded(MAX_ADDRESSES, (address: string) => {
  const { host, hostname, pathname, searchParams } = new URL(address);
  return { host, hostname, path: canonicalPath(pathname), query: canonicalQuery(searchParams) };
});

/** Many requests are signed in the same second. */
const MAX_SECONDS = 16;
const secondText = memoizeBounded(MAX_SECONDS, (second: number) =>
  new Date(second * 1000).toISOString().replaceAll(/[:-]|\.\d+/g, ""),
);

function timeText(nowMs: number): string {
  return secondText(Math.floor(nowMs / 1000));
}

function sha256(text: string): string {
  return hash("sha256", text, "hex");
}

function hmac(key: string | Buffer, text: string): Buffer {
  return createHmac("sha256", key).update(text).digest();
}
