// What a cause of failed calls is called, and the filter of the list that finds these calls.
import type { FailureCause } from "../../api/types.ts";
import { counted, wholeCount } from "../../format/count.ts";
import { visibleText } from "../../format/visible-text.ts";
import { termText } from "../calls/filter.ts";

export interface ToldCause {
  /** Such as `141 of 313 calls`. */
  readonly count: string;
  readonly what: string;
  /** The code, where there is one, else the status. */
  readonly code: string;
  /** Terms of the filter. */
  readonly terms: readonly string[];
  /** Below the scope; null where the cause has no page. */
  readonly page: string | null;
}

const KINDS: Readonly<Record<string, (cause: FailureCause) => Pick<ToldCause, "what" | "terms" | "page">>> = {
  limit: (cause) => ofLimit("limit", cause),
  budget: (cause) => ofLimit("budget", cause),
  policy: ({ subject, name }) => ({
    what: `The policy "${name}" refused them`,
    terms: [termText("policy", subject!)],
    page: `/policies/${encodeURIComponent(subject!)}`,
  }),
  target: ({ subject, status }) => {
    const provider = subject!.slice(0, subject!.indexOf(":"));
    return {
      what: ofTarget(subject!, status),
      terms: targetTerms(subject!),
      page: `/providers/${encodeURIComponent(provider)}`,
    };
  },
};

function ofLimit(word: string, { subject, name }: FailureCause): Pick<ToldCause, "what" | "terms" | "page"> {
  return {
    what: `The ${word} "${name}" refused them`,
    terms: [termText("limit", subject!)],
    page: `/limits/${encodeURIComponent(subject!)}`,
  };
}

/** A model may have colons in its name, and so has a term of its own. */
function targetTerms(subject: string): readonly string[] {
  const colon = subject.indexOf(":");
  const [provider, model] = [subject.slice(0, colon), subject.slice(colon + 1)];
  return [termText("provider", provider), ...(model === "" ? [] : [termText("model", model)])];
}

const CLIENT_CLOSED = 499;

/** A target that answers with a status below 500 has judged the call, and one whose client has gone has done nothing wrong. */
function ofTarget(target: string, status: number): string {
  if (status === CLIENT_CLOSED) return `The client did not wait for ${target}`;
  return status < 500 ? `${target} refused them` : `${target} failed`;
}

function ofNobody(status: number): string {
  if (status === CLIENT_CLOSED) return "The client did not wait for an answer";
  return status < 500 ? "The gateway refused them" : "The gateway or a provider failed";
}

export function causeWords(cause: FailureCause, allCalls: number): ToldCause {
  const { status, code, kind, calls } = cause;
  const told = kind === null ? null : KINDS[kind]!(cause);
  return {
    count: `${wholeCount(calls)} of ${counted(allCalls, "call")}`,
    what: visibleText(told?.what ?? ofNobody(status)),
    code: code ?? String(status),
    terms: [code === null ? termText("status", String(status)) : termText("code", code), ...(told?.terms ?? [])],
    page: told?.page ?? null,
  };
}
