// The request that would be sent to a provider, as an explanation shows it: exact except for secrets, and readable,
// because long base64 is replaced by its length and digest.
import { hash } from "node:crypto";
import { isObject, type Json, type JsonObject } from "../../core/json.ts";
import type { Provider } from "../../providers/interface/provider.ts";
import type { Target } from "../../core/target.ts";
import { yieldToLoop } from "../../core/concurrency/event-loop.ts";
import type { UpstreamRequest } from "../../wire/upstream.ts";
import { jsonOf, type Masker } from "./masking.ts";

const MIN_ABBREVIATED = 512;
const BASE64 = /^[A-Za-z0-9+/_\r\n-]+={0,2}$/;
const DATA_URI = /^data:[^,]{0,200};base64,/i;
const SIGNATURE = /\bSignature=[0-9a-f]{64}\b/;

export interface ShownRequest {
  readonly provider: Provider;
  /** The target, with any credential in it masked. */
  readonly target: Target;
  readonly unsigned: UpstreamRequest;
  readonly masker: Masker;
  readonly nowMs: number;
}

export async function explainedRequest({
  provider,
  target,
  unsigned,
  masker,
  nowMs,
}: ShownRequest): Promise<JsonObject> {
  const {
    method = "POST",
    url,
    headers,
    body,
  } = await provider.sign(unsigned, target.credential, { nowMs, settings: target.settings });
  const shown = await masker.body(body);
  await yieldToLoop();
  const sent = bodyValue(shown);
  await yieldToLoop();
  const abbreviated: Abbreviation[] = [];
  return {
    method,
    url: masker.url(url),
    headers: Object.fromEntries(
      Object.entries(headers).map(([name, value]) => [
        name,
        unsigned.headers[name] === value ? masker.header(name, value) : signedHeader(masker.text(value)),
      ]),
    ),
    body: abbreviate(sent, "", "", abbreviated),
    body_abbreviated: abbreviated,
    body_text: shown,
    body_text_masked: shown !== body,
    body_bytes: Buffer.byteLength(body),
    body_sha256: hash("sha256", body, "hex"),
  };
}

/** Replaces a signature, which would be meaningless because it was made with a masked key. */
function signedHeader(value: string): string {
  return value.replace(SIGNATURE, "Signature=(computed when the call is made)");
}

function bodyValue(text: string): Json {
  if (text === "") return null;
  const value = jsonOf(text);
  return value === undefined ? text : value;
}

interface Abbreviation extends JsonObject {
  readonly path: string;
  readonly bytes: number;
  readonly sha256: string;
}

/** Replaces the long base64 of a value. `around` is the path of what contains it, and `step` its name or index there. */
function abbreviate(value: Json, around: string, step: string | number, into: Abbreviation[]): Json {
  // no path is made for a short value, of which a body may have hundreds of thousands
  if (typeof value === "string" ? value.length < MIN_ABBREVIATED : typeof value !== "object") return value;
  const path = typeof step === "number" ? `${around}[${step}]` : around === "" ? step : `${around}.${step}`;
  if (Array.isArray(value)) return value.map((item: Json, index) => abbreviate(item, path, index, into));
  if (isObject(value))
    return Object.fromEntries(
      Object.entries(value).map(([name, member]) => [name, abbreviate(member!, path, name, into)]),
    );
  if (typeof value !== "string") return value;
  const head = DATA_URI.exec(value)?.[0] ?? "";
  const data = value.slice(head.length);
  if (!BASE64.test(data)) return value;
  into.push({ path, bytes: data.length, sha256: hash("sha256", data, "hex") });
  return `${head}<${size(data.length)} of base64>`;
}

function size(bytes: number): string {
  if (bytes < 1000) return `${bytes} B`;
  return bytes < 1_000_000 ? `${(bytes / 1000).toFixed(1)} kB` : `${(bytes / 1_000_000).toFixed(1)} MB`;
}
