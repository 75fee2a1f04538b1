// Seals what is kept outside of this process: under keys that are derived from the master key, one that makes
// the addresses of objects from their ids, and one for each tenant. Whoever reads the store learns neither ids nor texts.
import { createHmac } from "node:crypto";
import { derivedKey, tenantKeys } from "../../config/derived-keys.ts";
import { openedBytes, sealedBytes } from "../../config/sealed-bytes.ts";
import { memoizePerObject } from "../../core/memoization.ts";
import { parseOwnJson } from "../../wire/json/json.ts";
import type { KeptObject, KeptStore, NewKeptObject } from "./kept-store.ts";

interface Keys {
  addressOf(tenantId: string, id: string): string;
  sealingKey(tenantId: string): Uint8Array;
}

/** What is sealed. */
interface Sealed<Value> {
  readonly ids: readonly string[];
  readonly untilMs: number;
  readonly value: Value;
}

/** The first master key seals, and each of them opens. Values are JSON. */
export function sealedStore<Value>(
  store: KeptStore<Uint8Array>,
  masterKeys: () => readonly Uint8Array[],
  nowMs: () => number,
): KeptStore<Value> {
  const all = (): readonly Keys[] => derivedKeys(masterKeys());
  const opened = (keys: Keys, tenantId: string, { ids, value }: KeptObject<Uint8Array>): KeptObject<Value> | null => {
    try {
      const text = openedBytes(keys.sealingKey(tenantId), value, placeOf(tenantId, ids[0]!));
      const sealed = parseOwnJson(text.toString("utf8")) as unknown as Sealed<Value>;
      return sealed.untilMs > nowMs() ? sealed : null;
    } catch {
      return null;
    }
  };
  return {
    get untilMs() {
      return store.untilMs;
    },
    get isAway() {
      return store.isAway;
    },
    keep({ tenantId, projectId, ids, value }: NewKeptObject<Value>) {
      const sealed: Sealed<Value> = { ids, untilMs: store.untilMs, value };
      const text = Buffer.from(JSON.stringify(sealed));
      const newest = all()[0]!;
      const addresses = ids.map((id) => newest.addressOf(tenantId, id));
      const body = sealedBytes(newest.sealingKey(tenantId), text, placeOf(tenantId, addresses[0]!));
      return store.keep({
        tenantId,
        projectId: projectId === null ? null : projectName(newest, tenantId, projectId),
        ids: addresses,
        value: body,
        size: () => body.length,
      });
    },
    async find(tenantId, id) {
      for (const keys of all()) {
        const found = await store.find(tenantId, keys.addressOf(tenantId, id));
        const open = found === null ? null : opened(keys, tenantId, found);
        if (open !== null) return open;
      }
      return null;
    },
    async remove(tenantId, id) {
      for (const keys of all()) await store.remove(tenantId, keys.addressOf(tenantId, id));
    },
    async removeAll(tenantId, projectId) {
      if (projectId === null) return store.removeAll(tenantId, null);
      for (const keys of all()) await store.removeAll(tenantId, projectName(keys, tenantId, projectId));
    },
    close: () => store.close(),
  };
}

const derivedKeys = memoizePerObject((masterKeys: readonly Uint8Array[]) => masterKeys.map(keysOf));

function keysOf(masterKey: Uint8Array): Keys {
  const addressKey = derivedKey(masterKey, "dragoman kept object\0address");
  return {
    addressOf: (tenantId, id) =>
      createHmac("sha256", addressKey)
        .update(JSON.stringify([tenantId, id]))
        .digest("hex"),
    sealingKey: tenantKeys(masterKey, "dragoman kept object\0sealing"),
  };
}

/** No id of an object is a list. */
function projectName(keys: Keys, tenantId: string, projectId: string): string {
  return keys.addressOf(tenantId, JSON.stringify(["project", projectId]));
}

function placeOf(tenantId: string, address: string): Uint8Array {
  return Buffer.from(JSON.stringify([tenantId, address]));
}
