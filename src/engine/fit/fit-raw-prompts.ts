// Fits raw prompts to their target, as fit.ts does for conversations: prompts that the endpoint does not take are refused,
// and so are members that it lacks, unless they may be dropped.
import type { ChatRequest, RawPromptRules } from "../../core/chat.ts";
import type { Principal } from "../../core/identity.ts";
import type { JsonObject } from "../../core/json.ts";
import { unsupportedValue } from "../../core/refusals.ts";
import { withMembers } from "../../core/request/request-source.ts";
import { type Target, targetName } from "../../core/target.ts";
import type { Provider, RawPrompts } from "../../providers/interface/provider.ts";
import { taskMemoOf } from "../../providers/tasks/task.ts";
import { DROPPING, fitRequest, type FitSettings, type FittedRequest, lackingParameters } from "./fit.ts";
import { promptCount } from "../../core/request/choice-counts.ts";

/** Throws what `fitRequest` throws, and refuses prompts and members that the endpoint does not take. */
export function fitRawPrompts(
  request: ChatRequest,
  { rules, raw }: { readonly rules: RawPromptRules; readonly raw: RawPrompts },
  provider: Provider,
  target: Target,
  settings: FitSettings,
  principal: Principal,
): FittedRequest {
  requirePrompts(request, raw, provider, target);
  const lacking = Object.keys(request.extra).filter((name) => rules.parameters.has(name) && !raw.takes.has(name));
  if (lacking.length === 0) return fitRequest(request, provider, target, settings, principal);
  const refused = settings.dropParams ? lacking.filter((name) => rules.content.has(name)) : lacking;
  if (refused.length > 0) {
    const isContent = refused.some((name) => rules.content.has(name));
    throw lackingParameters(refused, provider, target, isContent ? null : DROPPING);
  }
  const extra: JsonObject = Object.fromEntries(
    Object.entries(request.extra).filter(([name]) => !lacking.includes(name)),
  );
  const fitted = fitRequest(withMembers(request, { extra }), provider, target, settings, principal);
  const dispositions = { ...fitted.dispositions };
  for (const name of lacking) dispositions[name] = "dropped";
  return { ...fitted, dropped: [...fitted.dropped, ...lacking], dispositions };
}

/** Throws `unsupported_value` with the path. */
function requirePrompts(request: ChatRequest, raw: RawPrompts, { label }: Provider, target: Target): void {
  const param = request.form.pathOf("messages", request);
  if (taskMemoOf(request).inputs === "tokens" && !raw.takesTokens)
    throw unsupportedValue(
      param,
      `${param} must be text for ${label} with the model ${targetName(target)}: token ids mean something only to a model with the same vocabulary; got lists of tokens.`,
    );
  const count = promptCount(request);
  if (count > raw.mostPrompts)
    throw unsupportedValue(
      param,
      `${param} must be one prompt for ${label} with the model ${targetName(target)}; got ${count}. Send one call for each.`,
    );
}
