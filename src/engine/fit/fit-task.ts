// Fits a task to its target, as fit.ts does for conversations: a parameter that the target lacks is refused or, where
// that is allowed, dropped and reported; every other field passes through.
import type { ChatRequest, TaskRules } from "../../core/chat.ts";
import type { Principal } from "../../core/identity.ts";
import { reservedParameter } from "../../core/refusals.ts";
import { withMembers } from "../../core/request/request-source.ts";
import { NEVER_UNSUPPORTED, COMMON, type CommonParameter } from "../../core/params.ts";
import type { ParameterDisposition } from "../../core/record/record.ts";
import { type Target } from "../../core/target.ts";
import type { Provider } from "../../providers/interface/provider.ts";
import { DROPPING, type FitSettings, type FittedRequest, guardPassThrough, lackingParameters } from "./fit.ts";
import { requireFewParts, taskFormOf } from "./task-parts.ts";

/** Throws `unsupported_parameter`, `reserved_parameter`, `permission_required` or `invalid_request`. */
export function fitTask(
  request: ChatRequest,
  rules: TaskRules,
  provider: Provider,
  target: Target,
  settings: FitSettings,
  principal: Principal,
): FittedRequest {
  const form = taskFormOf(rules, provider, target.model);
  requireFewParts(request, form, provider);
  guardPassThrough(request, provider, principal);
  const dispositions: Record<string, ParameterDisposition> = {};
  const lacking: string[] = [];
  // those that the route drops at this target, whether it has them or not
  const unwanted = Object.keys(request.params).filter((name) => settings.drop?.has(name as CommonParameter) === true);
  for (const name of Object.keys(request.extra)) {
    if (rules.reserved.has(name))
      throw reservedParameter(name, `${name} is written by the gateway itself; it cannot be added.`);
    if (request.extra[name] === null || !rules.parameters.has(name)) dispositions[name] = "passed";
    else if (form.takes.has(name)) dispositions[name] = "native";
    else lacking.push(name);
  }
  for (const name of Object.keys(request.params)) {
    if (unwanted.includes(name)) continue;
    if (form.takes.has(name)) dispositions[name] = "native";
    // names of conversations come from an entry of `fallbacks`, or from a target of a route
    else if (!NEVER_UNSUPPORTED.has(name as CommonParameter) && Object.hasOwn(COMMON, name)) lacking.push(name);
  }
  const left = [...unwanted, ...lacking];
  if (left.length === 0) return { request, dropped: [], dispositions };
  if (lacking.length > 0 && !settings.dropParams) throw lackingParameters(lacking, provider, target, DROPPING);
  const dropped = [...unwanted.filter((name) => request.source.members.has(name)), ...lacking];
  for (const name of dropped) dispositions[name] = "dropped";
  const without = <T extends object>(members: T): T =>
    Object.fromEntries(Object.entries(members).filter(([name]) => !left.includes(name))) as T;
  const fitted = withMembers(request, { params: without(request.params), extra: without(request.extra) });
  return { request: fitted, dropped, dispositions };
}
