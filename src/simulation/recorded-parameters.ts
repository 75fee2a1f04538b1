// Which parameters a recorded call had, as far as its record tells: it has the name of each parameter, as the client wrote it, to which
// its last target gave a meaning.
import { effectiveCapability, type Support } from "../core/capability.ts";
import { COMMON, type CommonParameter, type Field, NEVER_UNSUPPORTED } from "../core/params.ts";
import { providers } from "../providers/registry.ts";
import type { RecordedCall } from "../store/calls/calls.ts";

const BOUNDS = ["max_tokens", "max_completion_tokens", "max_output_tokens"] as const;
/** The names under which a client may have sent a parameter, where that is not its own name alone. */
const WRITTEN_AS: Readonly<Partial<Record<CommonParameter, readonly string[]>>> = {
  max_tokens: BOUNDS,
  max_completion_tokens: BOUNDS,
  tools: ["tools", "functions"],
  tool_choice: ["tool_choice", "function_call"],
  // a call of functions asks for one call at a time
  parallel_tool_calls: ["parallel_tool_calls", "functions"],
  stop: ["stop", "stop_sequences"],
};
/** Members of other operations whose value decides whether the translation has the parameter of that name. */
const BY_VALUE: ReadonlySet<CommonParameter> = new Set(["store", "parallel_tool_calls"]);

/** Whether the call had the parameter; `null` where its record does not tell. */
export function wasSent(name: CommonParameter, call: RecordedCall): boolean | null {
  const { operation, parameters, attempts, stream, endUser } = call;
  // few clients say that they want no stream
  if (name === "stream") return stream || parameters.includes(name);
  if ((name === "user" || name === "safety_identifier") && endUser === null) return false;
  if (attempts.length === 0) return null;
  const isChat = operation === "chat.completions";
  if ((WRITTEN_AS[name] ?? [name]).some((written) => parameters.includes(written)))
    return isChat || !BY_VALUE.has(name) ? true : null;
  if (!isChat) return name === "tools" ? false : null;
  return mayBeLeftOut(name, call) ? null : false;
}

/** Whether the target may have been sent nothing of the parameter, so that the record does not have its name. */
function mayBeLeftOut(name: CommonParameter, { attempts }: RecordedCall): boolean {
  const isNeutralSometimes = (COMMON[name] as Field).neutral !== undefined;
  // an empty list of tools is as good as none
  if (name === "tools" || !(isNeutralSometimes || NEVER_UNSUPPORTED.has(name))) return false;
  const { provider, model } = attempts.at(-1)!;
  const table = providers.get(provider)?.capabilities;
  return table === undefined || !SENT.has(effectiveCapability(table, name, model).support);
}
const SENT: ReadonlySet<Support> = new Set(["native", "mapped"]);
