// The ways in which the first target of a route fails, as data: what it does, and which answer the client is promised.
import { bodyOf, type Part, type Play, well, wordingOf } from "./upstream.ts";
import {
  chunk,
  DONE,
  errorBody,
  head,
  LAST_CHUNK,
  openingEvent,
  wholeBody,
  wordEvent,
} from "../../load/written-answers.ts";

/**
 * What a call is promised. `second`: the whole answer of the second target. `first`: that of the first. `either`: a whole answer of one of both. `told`: an
 * error that says so, before or within the answer, because content had been sent or nobody can answer.
 */
export type Promised = "first" | "second" | "either" | "told";

export interface Way {
  readonly id: string;
  readonly title: string;
  readonly plays: Play | null;
  /** Of the second target, where that is not well. */
  readonly second?: Play;
  readonly plain: Promised;
  readonly stream: Promised;
  /** Where the route's further targets are not tried because the request itself was refused (promise 7.3): what the shapes of two targets are promised. */
  readonly ofTargets?: Promised;
  /** It counts at the breaker, so that the first target is left alone once that is open. */
  readonly isCounted: boolean;
  /** Where a hedge answers first, the silence of the first target was not unusual, and does not count. */
  readonly isSilent?: boolean;
  /** Requests that it answers well before. */
  readonly wellBefore?: number;
  /** The first target told the gateway to wait, so that one request is enough. */
  readonly isToldToWait?: boolean;
  /** The time limit of the request in seconds. */
  readonly timeoutS?: number;
}

const error = (status: string, message: string, { code = null as string | null, more = "" } = {}): Play => {
  const body = errorBody(message, code);
  return () => bodyOf(status, "application/json", body, more);
};
const stream = (...parts: readonly Part[]): readonly Part[] => [
  { write: head("200 OK", "text/event-stream", null) },
  { write: chunk(openingEvent) },
  ...parts,
];
const some = (name: string): Part => ({ write: chunk(wordEvent(name).repeat(3)) });
const half = (name: string): string => wholeBody(wordingOf(name)).slice(0, 120);
const plainHalf = (name: string, end: "reset" | "silent"): readonly Part[] => [
  { write: head("200 OK", "application/json", wholeBody(wordingOf(name)).length) + half(name) },
  { pauseMs: 5 },
  { end },
];
const SLOW_MS = 150;
/** So that it is known how long the target usually takes. */
const WELL_BEFORE = 2;

export const WAYS: readonly Way[] = [
  { id: "refused", title: "its port is closed", plays: null, plain: "second", stream: "second", isCounted: true },
  {
    id: "rate-limited-told",
    title: "429 with `retry-after: 60`",
    plays: error("429 Too Many Requests", "Slow down.", { more: "retry-after: 60\r\n" }),
    plain: "second",
    stream: "second",
    isCounted: true,
    isToldToWait: true,
  },
  {
    id: "rate-limited",
    title: "429 without a time",
    plays: error("429 Too Many Requests", "Slow down."),
    plain: "second",
    stream: "second",
    isCounted: true,
  },
  {
    id: "once",
    title: "500 once, then well",
    plays: (asked) => (asked.before === 0 ? error("500 Internal Server Error", "A fault.")(asked) : well(asked)),
    plain: "either",
    stream: "either",
    isCounted: false,
  },
  {
    id: "fault",
    title: "500 each time",
    plays: error("500 Internal Server Error", "A fault."),
    plain: "second",
    stream: "second",
    isCounted: true,
  },
  {
    id: "unavailable",
    title: "503 for good",
    plays: error("503 Service Unavailable", "Overloaded."),
    plain: "second",
    stream: "second",
    isCounted: true,
  },
  {
    id: "overloaded",
    title: "529",
    plays: error("529 Overloaded", "Overloaded."),
    plain: "second",
    stream: "second",
    isCounted: true,
  },
  {
    id: "reset",
    title: "a reset before the head",
    plays: () => [{ end: "reset" }],
    plain: "second",
    stream: "second",
    isCounted: true,
  },
  {
    id: "silent",
    title: "silence before the head",
    plays: () => [{ end: "silent" }],
    plain: "second",
    stream: "second",
    isCounted: true,
    isSilent: true,
  },
  {
    id: "silent-head",
    title: "silence after the head",
    plays: ({ isStream }) => [
      { write: isStream ? head("200 OK", "text/event-stream", null) : head("200 OK", "application/json", 500) },
      { end: "silent" },
    ],
    plain: "second",
    stream: "second",
    isCounted: true,
    isSilent: true,
  },
  {
    id: "impatient",
    title: "well, then silence, and a caller with a limit of 4 s",
    plays: (asked) => (asked.before < WELL_BEFORE ? well(asked) : [{ end: "silent" }]),
    plain: "either",
    stream: "either",
    isCounted: true,
    isSilent: true,
    wellBefore: WELL_BEFORE,
    timeoutS: 4,
  },
  {
    id: "cut-early",
    title: "a cut before any content",
    plays: ({ isStream, name }) => (isStream ? stream({ pauseMs: 5 }, { end: "reset" }) : plainHalf(name, "reset")),
    plain: "second",
    stream: "second",
    isCounted: true,
  },
  {
    id: "cut",
    title: "a cut after some words",
    plays: ({ isStream, name }) =>
      isStream ? stream(some(name), { pauseMs: 20 }, { end: "reset" }) : plainHalf(name, "reset"),
    plain: "second",
    stream: "told",
    isCounted: true,
  },
  {
    id: "stall",
    title: "a stall after some words",
    plays: ({ isStream, name }) => (isStream ? stream(some(name), { end: "silent" }) : plainHalf(name, "silent")),
    plain: "second",
    stream: "told",
    isCounted: true,
    isSilent: true,
  },
  {
    id: "rubbish",
    title: "no JSON in place of the answer",
    plays: ({ isStream }) =>
      isStream
        ? stream({ write: chunk("data: {not json\n\n") + LAST_CHUNK }, { end: "closed" })
        : bodyOf("200 OK", "application/json", "{not json"),
    plain: "second",
    stream: "second",
    isCounted: true,
  },
  {
    id: "rubbish-later",
    title: "no JSON after some words",
    plays: ({ isStream, name }) =>
      isStream
        ? stream(some(name), { pauseMs: 20 }, { write: chunk("data: {not json\n\n") + LAST_CHUNK }, { end: "closed" })
        : bodyOf("200 OK", "application/json", half(name)),
    plain: "second",
    stream: "told",
    isCounted: true,
  },
  {
    id: "no-end",
    title: "an end without its marker",
    plays: ({ isStream, name }) =>
      isStream
        ? stream(some(name), { pauseMs: 20 }, { write: LAST_CHUNK }, { end: "kept" })
        : [{ write: head("200 OK", "application/json", null) + chunk(half(name)) + LAST_CHUNK }, { end: "kept" }],
    plain: "second",
    stream: "told",
    isCounted: true,
  },
  {
    id: "framing",
    title: "an error in the framing",
    plays: ({ isStream }) => [
      { write: `${head("200 OK", isStream ? "text/event-stream" : "application/json", null)}zz\r\n` },
      { end: "silent" },
    ],
    plain: "second",
    stream: "second",
    isCounted: true,
  },
  {
    id: "page",
    title: "a web page with status 200",
    plays: () => bodyOf("200 OK", "text/html", "<!DOCTYPE html><title>It works</title>"),
    plain: "second",
    stream: "second",
    isCounted: true,
  },
  {
    id: "empty",
    title: "an empty body with status 200",
    plays: () => bodyOf("200 OK", "application/json", ""),
    plain: "second",
    stream: "second",
    isCounted: true,
  },
  {
    id: "error-200",
    title: "an error with status 200",
    plays: ({ isStream }) => {
      const body = errorBody("A fault.");
      return isStream
        ? [
            {
              write: head("200 OK", "text/event-stream", null) + chunk(`data: ${body}\n\n`) + chunk(DONE) + LAST_CHUNK,
            },
            { end: "kept" },
          ]
        : bodyOf("200 OK", "application/json", body);
    },
    plain: "second",
    stream: "second",
    isCounted: true,
  },
  {
    id: "moved",
    title: "302 to another address",
    plays: () => bodyOf("302 Found", "text/plain", "", "location: http://127.0.0.1:9/\r\n"),
    plain: "second",
    stream: "second",
    isCounted: false,
  },
  {
    id: "unauthorized",
    title: "401: the gateway's key is refused",
    plays: error("401 Unauthorized", "Incorrect API key provided.", { code: "invalid_api_key" }),
    plain: "second",
    stream: "second",
    isCounted: false,
  },
  {
    id: "no-model",
    title: "404: it has no such model",
    plays: error("404 Not Found", "The model does not exist.", { code: "model_not_found" }),
    plain: "second",
    stream: "second",
    isCounted: false,
  },
  {
    id: "too-long",
    title: "the conversation is too long for it",
    plays: error("400 Bad Request", "This model's maximum context length is 100 tokens.", {
      code: "context_length_exceeded",
    }),
    plain: "second",
    stream: "second",
    isCounted: false,
  },
  {
    id: "content",
    title: "its content filter refuses",
    plays: error("400 Bad Request", "The content was filtered.", { code: "content_policy_violation" }),
    plain: "second",
    stream: "second",
    ofTargets: "told",
    isCounted: false,
  },
  {
    id: "invalid",
    title: "400: it refuses the request",
    plays: error("400 Bad Request", "Invalid value.", { code: "invalid_value" }),
    plain: "second",
    stream: "second",
    ofTargets: "told",
    isCounted: false,
  },
  {
    id: "comes-and-goes",
    title: "well and 500 by turns",
    plays: (asked) => (asked.before % 4 < 2 ? well(asked) : error("500 Internal Server Error", "A fault.")(asked)),
    plain: "either",
    stream: "either",
    isCounted: false,
  },
  {
    id: "slow",
    title: "slow, but in time",
    plays: (asked) => [{ pauseMs: SLOW_MS }, ...well(asked)],
    plain: "either",
    stream: "either",
    isCounted: false,
  },
  {
    id: "both",
    title: "500, and the second target fails too",
    plays: error("500 Internal Server Error", "A fault."),
    second: error("503 Service Unavailable", "Overloaded."),
    plain: "told",
    stream: "told",
    isCounted: false,
  },
];
