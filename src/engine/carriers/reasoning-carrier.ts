// Carriers of reasoning (promise 12.9): what a provider needs back of its reasoning, sealed for the client, in a place
// where the client's form keeps what only its server can read. A carrier is opened for the tenant, project, provider and
// model that it was made for, and for no other. The keys are derived from the master key, so that all
// replicas of an installation open the same carriers, before and after a restart.
import { tenantKeys } from "../../config/derived-keys.ts";
import { openedBytes, sealedBytes } from "../../config/sealed-bytes.ts";
import type { CarrierPlace } from "../../core/chat.ts";
import { isObject, type JsonObject } from "../../core/json.ts";
import { memoizePerObject } from "../../core/memoization.ts";
import { parseOwnJson } from "../../wire/json/json.ts";

/**
 * Why a carrier is not opened: it was changed, or is that of another tenant or installation (`damaged`); it is of another
 * project, provider or model (`elsewhere`); a later version has made it (`version`).
 */
export type CarrierFault = "damaged" | "elsewhere" | "version";

export type ReasoningCarriers = ReturnType<typeof reasoningCarriers>;

export type OpenedCarrier = { readonly carried: JsonObject } | { readonly fault: CarrierFault };

/** Members of what is sealed where a vendor encrypts its reasoning itself: its text, and the credential it is made for. */
export const VENDOR = "vendor";
export const VENDOR_CREDENTIAL = "credential";

const VERSION = "1";
const HEAD = "dragoman";
const TAIL = ".dragoman";
const SHAPE = /^dragoman(\d{1,4})\.([A-Za-z0-9_-]+)\.dragoman$/;
/** The most characters of JSON that one carrier holds, and of the text of a carrier that is opened. */
const MAX_CARRIED = 1024 * 1024;
const MAX_TEXT = 4 * 1024 * 1024;
const BOUND_TO = Buffer.from(VERSION);

/** Whether the text is a carrier, also where a part of it was changed. No vendor's own data begins or ends so. */
export function isCarrier(text: unknown): text is string {
  return typeof text === "string" && (text.startsWith(HEAD) || text.endsWith(TAIL));
}

/** Whether the text has the form of a carrier to its last character. */
export function isWholeCarrier(text: unknown): boolean {
  return typeof text === "string" && SHAPE.test(text);
}

const derivedKeys = memoizePerObject((masterKeys: readonly Uint8Array[]) =>
  masterKeys.map((key) => tenantKeys(key, "dragoman reasoning carrier")),
);

/** The first master key seals, and each of them opens. Without a key, nothing is sealed or opened. */
export function reasoningCarriers(masterKeys: () => readonly Uint8Array[]) {
  const keysOf = (tenantId: string): readonly Uint8Array[] => derivedKeys(masterKeys()).map((keyOf) => keyOf(tenantId));
  return {
    /** Returns `null` where nothing is sealed, and for more than may be carried. */
    seal(carried: JsonObject, { tenantId, projectId, provider, model }: CarrierPlace): string | null {
      const text = JSON.stringify({ projectId, provider, model, carried });
      const [key] = keysOf(tenantId);
      if (key === undefined || text.length > MAX_CARRIED) return null;
      const sealed = sealedBytes(key, Buffer.from(text), BOUND_TO);
      return `${HEAD}${VERSION}.${sealed.toString("base64url")}${TAIL}`;
    },
    /** The keys that open the carriers of a tenant. */
    keysOf,
  };
}

export function openCarrier(
  text: string,
  keys: readonly Uint8Array[],
  { projectId, provider, model }: CarrierPlace,
): OpenedCarrier {
  const [, version, body] = (text.length > MAX_TEXT ? null : SHAPE.exec(text)) ?? [];
  if (version === undefined) return { fault: "damaged" };
  if (version !== VERSION) return { fault: "version" };
  const sealed = Buffer.from(body!, "base64url");
  // the last character of such a text can be written in several ways, of which one is ours
  if (sealed.toString("base64url") !== body) return { fault: "damaged" };
  for (const key of keys) {
    const found = opening(sealed, key);
    if (found === null) continue;
    const { carried } = found;
    const isHere = found["projectId"] === projectId && found["provider"] === provider && found["model"] === model;
    return isHere && isObject(carried) ? { carried } : { fault: "elsewhere" };
  }
  return { fault: "damaged" };
}

function opening(sealed: Buffer, key: Uint8Array): JsonObject | null {
  try {
    return parseOwnJson(openedBytes(key, sealed, BOUND_TO).toString("utf8")) as JsonObject;
  } catch {
    return null;
  }
}
