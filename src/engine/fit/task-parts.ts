// The parts of a task: its inputs in as many upstream requests as its target needs. What the engine knows of a task is its
// rules (core/chat.ts) and the form that a provider has for it.
import { estimatePrompt, estimateValues } from "../../accounting/estimate.ts";
import type { ChatRequest, TaskRules } from "../../core/chat.ts";
import { messageCount } from "../../core/request/conversation-figures.ts";
import { invalidRequest } from "../../core/refusals.ts";
import { withMembers } from "../../core/request/request-source.ts";
import type { Provider } from "../../providers/interface/provider.ts";
import type { TaskForm } from "../../providers/interface/task-form.ts";

/** The inputs of one upstream request. */
export interface TaskPart {
  readonly at: number;
  readonly count: number;
}

/** The most upstream requests of one attempt. */
const MAX_REQUESTS = 256;

/** Throws `invalid_request` where the model does not do the task. */
export function taskFormOf({ name }: TaskRules, provider: Provider, model: string): TaskForm<unknown> {
  const form = provider.tasks?.[name]?.(model) ?? null;
  if (form !== null) return form;
  throw invalidRequest(
    "model",
    `${provider.label} has no ${name} with the model ${JSON.stringify(model)}, or the gateway does not know of them; name a model that has.`,
  );
}

/** Returns how many upstream requests the inputs need. */
export function taskRequests(request: ChatRequest, rules: TaskRules, provider: Provider, model: string): number {
  return Math.max(1, Math.ceil(messageCount(request) / taskFormOf(rules, provider, model).mostInputs));
}

/** Throws `invalid_request` for more inputs than may be sent to the target. */
export function requireFewParts(request: ChatRequest, form: TaskForm<unknown>, { label }: Provider): void {
  const most = form.mostInputs * MAX_REQUESTS;
  const inputs = messageCount(request);
  if (inputs > most)
    throw invalidRequest(
      request.form.pathOf("messages", request),
      `${label} takes ${form.mostInputs} of the inputs at a time, and one call sends at most ${MAX_REQUESTS} requests: send at most ${most} inputs; got ${inputs}.`,
    );
}

export function taskParts(request: ChatRequest, { mostInputs }: TaskForm<unknown>): readonly TaskPart[] {
  const inputs = messageCount(request);
  const parts: TaskPart[] = [];
  for (let at = 0; at < inputs; at += mostInputs) parts.push({ at, count: Math.min(mostInputs, inputs - at) });
  return parts;
}

/** Returns the search units that the inputs are estimated to be; 0 where the target does not bill those. */
export function taskSearchUnits(request: ChatRequest, { name }: TaskRules, provider: Provider, model: string): number {
  return provider.tasks?.[name]?.(model)?.searchUnits?.(messageCount(request)) ?? 0;
}

/** Returns the request with the inputs of one part alone. */
export function partOf(request: ChatRequest, { at, count }: TaskPart): ChatRequest {
  const { messages } = request;
  return count === messages.length ? request : withMembers(request, { messages: messages.slice(at, at + count) });
}

/**
 * Estimates the tokens of a part: its texts, without what a message of a conversation costs beside its text, and what
 * passes through, of which every request has the whole.
 */
export function estimatePart({ messages, held, extra, form }: ChatRequest, { at, count }: TaskPart): number {
  const passed = Object.entries(extra).filter(([name]) => form.task?.parameters.has(name) !== true);
  const texts =
    held === undefined
      ? estimatePrompt(messages.slice(at, at + count))
      : Math.ceil((held.promptTokens * count) / held.count);
  const others = passed.length === 0 ? 0 : estimateValues(Object.fromEntries(passed));
  return Math.max(1, texts - EACH_MESSAGE * count) + others;
}
/** What accounting/estimate.ts adds for each message. */
const EACH_MESSAGE = 4;

/** The parts in the order in which they are sent; a single `null` where the request is no task. */
export function partsAt(request: ChatRequest, provider: Provider, model: string): readonly (TaskPart | null)[] {
  const { task } = request.form;
  return task === undefined ? [null] : taskParts(request, taskFormOf(task, provider, model));
}
