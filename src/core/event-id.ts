// Ids of events: random, or made of what happened, where several processes see the same thing happen and it is to be told once.
import { createHash } from "node:crypto";

export function eventIdOf(onceKey: string): string {
  return `evt_${createHash("sha256").update(onceKey).digest("hex").slice(0, 32)}`;
}

export function newEventId(): string {
  return `evt_${crypto.getRandomValues(new Uint8Array(16)).toHex()}`;
}
