// What the planted provider says in every form, before something of it is spoiled: reasoning, text and two calls; and how a table of defects is written.
import type { JsonObject } from "../../../../src/core/json.ts";

export const REASONING = ["Two ", "cities, ", "two ", "calls."];
export const TEXT = ["I look ", "at the ", "weather ", "of both."];
export const CALLS = [
  { id: "call_paris", name: "weather", arguments: ['{"city":', '"Par', 'is"}'] },
  { id: "call_oslo", name: "weather", arguments: ['{"city":', '"Os', 'lo"}'] },
] as const;
export const OUTPUT_TOKENS = 23;

export type Event = JsonObject;

/** What is sent in place of the sound stream: its text, or a response of another status. */
export type Planted = string | { readonly status: number; readonly body: object };

export interface Defect {
  /** A request asks for it by `#name`. */
  readonly name: string;
  /**
   * What every client has to see: the whole answer, a failure, or either. Nothing may be missing of an answer that is
   * shown as sound.
   */
  readonly expected: "whole" | "told" | "either";
  /** What cannot be known because the provider did not say it. */
  readonly unknown?: readonly ("finish" | "outputTokens" | "reasoning")[];
  /** Whether the calls may come in another order. */
  readonly isReordered?: true;
  readonly plant: (sound: readonly Event[]) => Planted;
}

/** The text of a stream whose events are named by their type. */
export function named(events: readonly Event[]): string {
  return events.map((event) => `event: ${event["type"] as string}\ndata: ${JSON.stringify(event)}\n\n`).join("");
}

/** The text of a stream whose events have no names. */
export function unnamed(events: readonly (Event | string)[]): string {
  return events.map((event) => `data: ${typeof event === "string" ? event : JSON.stringify(event)}\n\n`).join("");
}

/** Returns the event in another form, or `null` where it is left out. */
export type Rewrite = (event: Event) => Event | null;

export function rewritten(events: readonly Event[], rewrite: Rewrite): readonly Event[] {
  return events.map(rewrite).filter((event) => event !== null);
}

/** Returns the event without the members of these names. */
export function without(event: Event, ...names: readonly string[]): Event {
  return Object.fromEntries(Object.entries(event).filter(([name]) => !names.includes(name)));
}
