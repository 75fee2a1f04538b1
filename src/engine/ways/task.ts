// Prepares a task, such as embeddings: there is no text in its answer that a guard could search.
import type { TaskRules } from "../../core/chat.ts";
import { fitTask } from "../fit/fit-task.ts";
import type { AskedTarget, WayResult } from "./way.ts";

/** Throws what `fitTask` throws. */
export function task({ request, resolved, settings, principal }: AskedTarget, rules: TaskRules): WayResult {
  return { resolved, fitted: fitTask(request, rules, resolved.provider, resolved.target, settings, principal) };
}
