// Prepares prompts that are no conversation, for the endpoint that takes them.
import type { RawPromptRules } from "../../core/chat.ts";
import { fitRawPrompts } from "../fit/fit-raw-prompts.ts";
import { rawPromptProvider, rawPromptsOf } from "../fit/raw-prompts.ts";
import { isSetToSpeak } from "../native/native-target.ts";
import type { AskedTarget, WayResult } from "./way.ts";

/** Throws what `fitRawPrompts` throws. */
export function rawPrompts(asked: AskedTarget, rules: RawPromptRules): WayResult {
  const { request, resolved, entry, operation, settings, principal } = asked;
  const raw = rawPromptsOf(resolved.provider, resolved.target.model, isSetToSpeak(entry, operation));
  const provider = rawPromptProvider(resolved.provider)(raw);
  return {
    resolved: { ...resolved, provider },
    fitted: fitRawPrompts(request, { rules, raw }, provider, resolved.target, settings, principal),
  };
}
