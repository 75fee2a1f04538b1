// Prepares a conversation in the form of the target's provider, whatever the form in which the client wrote it.
import type { ChatRequest } from "../../core/chat.ts";
import { GatewayError } from "../../core/errors.ts";
import { type Target, targetName } from "../../core/target.ts";
import { withOpenedRequest } from "../carriers/opened-request.ts";
import { fitRequest, type FittedRequest, type TranslationReason } from "../fit/fit.ts";
import { type AskedTarget, carrierPlaceOf, type SentReferences, type WayResult } from "./way.ts";

/** Where a message carries the turn of another provider, which is left out where it means nothing. */
const CARRIED = ".extra_content";

/** What the translation of a request in another form still names; it has no place for the rest. */
const STILL_NAMED: ReadonlySet<string> = new Set(["file_id", "container"]);

/** Throws what `fitRequest` throws, and `unsupported_parameter`. */
export function translatedConversation(asked: AskedTarget, reason: TranslationReason | null): WayResult {
  const { resolved, settings, principal, carriers } = asked;
  const { provider, target } = resolved;
  const request = reason === null ? asked.request : withOpenedRequest(asked.request, carriers, carrierPlaceOf(asked));
  requireOpenedServers(request, target);
  const fitted = fitRequest(request, provider, target, settings, principal);
  if (reason === null) return { resolved, fitted, references: referencesIn(fitted, null) };
  return { resolved, fitted: { ...fitted, translated: reason }, references: referencesIn(fitted, STILL_NAMED) };
}

function referencesIn({ dropped }: FittedRequest, names: ReadonlySet<string> | null): SentReferences {
  return { names, isSent: (path) => !(path.includes(CARRIED) && dropped.includes(`messages[]${CARRIED}`)) };
}

/** Throws `unsupported_parameter` where the tools of a caller's own server are left to the vendors of other targets. */
function requireOpenedServers({ options, offered }: ChatRequest, target: Target): void {
  const [server] = options.toolServers;
  if (server === undefined || offered !== null) return;
  throw new GatewayError(
    "unsupported_parameter",
    `${server.path}.server_url is called by the provider itself in this call, and ${targetName(target)} does not speak the operation. Register the tool server, or name a model that speaks it.`,
    { param: `${server.path}.server_url` },
  );
}
