// Ids of events. An id is random, or it is derived from what happened, so that several processes that see the same
// thing happen report it only once.
import { hash } from "node:crypto";

export function eventIdOf(onceKey: string): string {
  return `evt_${hash("sha256", onceKey, "hex").slice(0, 32)}`;
}

export function newEventId(): string {
  return `evt_${crypto.getRandomValues(new Uint8Array(16)).toHex()}`;
}
