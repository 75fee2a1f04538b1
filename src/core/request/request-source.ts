// The text of a request beside its values. Targets of the same shape are sent parts of the text unchanged, so a value
// must not change without its text being given up: the type of values that go with a text is lost by every copy, and
// only the functions of this file give it.

import type { JsonObject } from "../json.ts";
import { lazy } from "../memoization.ts";

/** The body text that the caller sent, with the positions of its top-level members. */
export interface RequestSource {
  readonly text: string;
  readonly members: ReadonlyMap<string, MemberSpan>;
  /**
   * Top-level members whose value in the request differs from the text, for example legacy functions that became tools.
   */
  readonly rewritten: ReadonlySet<string>;
}

/**
 * Offsets into the text, in UTF-16 units: of the key's opening quote, of the value's first unit, and one past the
 * value's last unit.
 */
export interface MemberSpan {
  readonly keyStart: number;
  readonly valueStart: number;
  readonly valueEnd: number;
}

/**
 * Returns the source of a request that was made of values. Its text is written when it is needed, which it is not for a
 * target that is sent what the client wrote.
 */
export function sourceOfValues(body: JsonObject, rewritten: ReadonlySet<string>): RequestSource {
  const written = lazy(() => writtenMembers(body));
  return {
    get text() {
      return written().text;
    },
    get members() {
      return written().members;
    },
    rewritten,
  };
}

function writtenMembers(body: JsonObject): Pick<RequestSource, "text" | "members"> {
  const members = new Map<string, MemberSpan>();
  let text = "{";
  for (const [name, value] of Object.entries(body)) {
    if (value === undefined) continue;
    if (members.size > 0) text += ",";
    const keyStart = text.length;
    text += `${JSON.stringify(name)}:`;
    const valueStart = text.length;
    text += JSON.stringify(value);
    members.set(name, { keyStart, valueStart, valueEnd: text.length });
  }
  return { text: `${text}}`, members };
}

/** A class, because spreading and mapping lose a private member: `{ ...params, stop }` has it no longer. */
declare class SourceMark {
  private readonly sourceMark: undefined;
}

/** A value for which the request's source says where its text is, or that the text is stale. */
export type Sourced<Value> = Value & SourceMark;

interface WithSource {
  readonly messages: Sourced<object>;
  readonly params: Sourced<object>;
  readonly extra: Sourced<object>;
  readonly source: RequestSource;
}

type Unsourced<Value> = Value extends Sourced<infer Plain> ? Plain : never;

/** The members of a request that have a text. */
export type SourcedMembers<Request extends WithSource> = {
  readonly [Name in "messages" | "params" | "extra"]: Unsourced<Request[Name]>;
};

/** A request whose values do not yet go with its source. */
export type UnsourcedRequest<Request extends WithSource> = Omit<Request, keyof SourcedMembers<Request>> &
  SourcedMembers<Request>;

/**
 * For what makes a request of a text: the caller answers for it that `source` names every member whose value differs
 * from the text.
 */
export function requestOfText<Request extends WithSource>(request: UnsourcedRequest<Request>): Request {
  return request as unknown as Request;
}

/**
 * Returns the request with other messages, parameters or further fields. The text of each member that has another value
 * is given up.
 */
export function withMembers<Request extends WithSource>(
  request: Request,
  changed: Partial<SourcedMembers<Request>>,
): Request {
  const rewritten = new Set(request.source.rewritten);
  if (changed.messages !== undefined && changed.messages !== request.messages) rewritten.add("messages");
  for (const part of ["params", "extra"] as const) {
    const [before, after] = [request[part], changed[part] ?? request[part]] as readonly Readonly<
      Record<string, unknown>
    >[];
    if (after !== before) for (const name in after) if (after[name] !== before![name]) rewritten.add(name);
  }
  return { ...request, ...changed, source: { ...request.source, rewritten } };
}
