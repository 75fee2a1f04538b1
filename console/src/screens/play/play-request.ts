// The request of the playground: one JSON text, of which the form shows what it knows. A change by the form leaves everything else as it was.
import { textProblem, type TextProblem } from "../../components/text-problem.ts";

export type Json = null | boolean | number | string | readonly Json[] | { readonly [name: string]: Json };
export type JsonObject = { readonly [name: string]: Json };

export type ReadRequest =
  | { readonly body: JsonObject; readonly problem: null }
  | { readonly body: null; readonly problem: TextProblem };

export const FIRST_MESSAGE = "Say hello in three languages.";

export function firstRequest(model: string): JsonObject {
  return { model, stream: true, messages: [{ role: "user", content: FIRST_MESSAGE }] };
}

export function readRequest(text: string): ReadRequest {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    return { body: null, problem: textProblem((error as Error).message, text) };
  }
  if (typeof value !== "object" || value === null || Array.isArray(value))
    return { body: null, problem: { line: 1, message: "The request has to be a JSON object." } };
  return { body: value as JsonObject, problem: null };
}

export const writtenRequest = (body: JsonObject): string => JSON.stringify(body, null, 2);

/** Undefined removes the member; the others keep their places. */
export function withMember(body: JsonObject, name: string, value: Json | undefined): JsonObject {
  if (value !== undefined) return { ...body, [name]: value };
  return Object.fromEntries(Object.entries(body).filter(([other]) => other !== name));
}

export interface FormMessage {
  readonly role: string;
  /** Null where the content is no text, such as one with pictures; the form names its parts and leaves it alone. */
  readonly text: string | null;
  readonly parts: readonly string[];
}

export function messagesOf(body: JsonObject): readonly FormMessage[] | null {
  const messages = body["messages"];
  if (!Array.isArray(messages)) return null;
  return messages.map((message: Json) => {
    const { role, content } = (typeof message === "object" && message !== null ? message : {}) as JsonObject;
    return {
      role: typeof role === "string" ? role : "",
      text: typeof content === "string" ? content : content == null ? "" : null,
      parts: partsOf(content ?? null),
    };
  });
}

/** Pictures and files are named, and never loaded. */
function partsOf(content: Json): readonly string[] {
  if (!Array.isArray(content)) return [];
  return content.map((part: Json) => {
    if (typeof part !== "object" || part === null || Array.isArray(part)) return "part";
    const { type } = part as JsonObject;
    return typeof type === "string" ? type : "part";
  });
}

export function withMessage(body: JsonObject, index: number, change: JsonObject): JsonObject {
  const messages = (body["messages"] as readonly Json[]).map((message, at) =>
    at === index ? { ...(message as JsonObject), ...change } : message,
  );
  return { ...body, messages };
}

export function withoutMessage(body: JsonObject, index: number): JsonObject {
  return { ...body, messages: (body["messages"] as readonly Json[]).filter((_, at) => at !== index) };
}

export function withNewMessage(body: JsonObject): JsonObject {
  const messages = (body["messages"] as readonly Json[] | undefined) ?? [];
  const last = messages.at(-1) as JsonObject | undefined;
  return { ...body, messages: [...messages, { role: last?.["role"] === "user" ? "assistant" : "user", content: "" }] };
}

/** The model or route that the request names; null where it names none as a text. */
export function targetOf(body: JsonObject): string | null {
  for (const name of ["route", "model"]) {
    const value = body[name];
    if (typeof value === "string" && value !== "" && value !== "direct") return value;
  }
  return null;
}

/** The same request for another target: a route of the same name as a model can be named as the model. */
export function forTarget(body: JsonObject, target: string): JsonObject {
  return withMember(withMember(body, "route", undefined), "model", target);
}
