// Where a guard's service is, in which form it is asked, and with which credential: at an address of its own, or at a
// configured provider (promise 16.4).

// Decides (targets and attempts): Which provider does a guard's service use? By: `providerEndpoint`. Also:
// `guards/outside/outside-settings.ts` (`placeOf`). Rule: The one that is configured where the policy is; a tenant's own
// policy uses services of the tenant's own providers, and enabled models.
import { isEnabled } from "../../auth/permitted-models.ts";
import type { CancelSignal } from "../../core/concurrency/cancellation.ts";
import { type CredentialProvider, NONE_TRIED } from "../../core/configured/credential.ts";
import type { GuardService, GuardServicePlace, ProviderServiceType } from "../../core/configured/outside-guard.ts";
import { GatewayError } from "../../core/errors.ts";
import type { Json } from "../../core/json.ts";
import { type MaybePromise, whenReady } from "../../core/maybe-promise.ts";
import { serverOf, type Snapshot, snapshotSeenBy } from "../../core/snapshot.ts";
import type { Credential } from "../../core/target.ts";
import { fingerprint } from "../../credentials/fingerprint.ts";
import { SERVICE_FORMS } from "../../guards/outside/judging-forms.ts";
import type { ServiceFinding, ServiceForm, ServiceQuestion } from "../../providers/interface/judging-form.ts";
import type { Provider } from "../../providers/interface/provider.ts";
import type { ErrorAnswer } from "../../providers/interface/upstream-failure.ts";
import { REFUSALS } from "../../routing/plan/verdict.ts";
import type { UpstreamRequest } from "../../wire/upstream.ts";
import { NOTHING_BROUGHT, targetFor } from "../plan/resolve-target.ts";

export interface ServiceEndpoint extends Pick<ServiceForm<never>, "maxTexts" | "maxCharacters"> {
  /** The address guard checks the address at each request. */
  readonly guarded: boolean;
  /** The address and the credentials of its provider; empty where the service itself has them. */
  readonly account: string;
  /** Throws GatewayError, or the signal's reason. */
  request(question: ServiceQuestion, signal: CancelSignal): MaybePromise<ServiceRequest>;
  /** Throws NonsenseAnswer. */
  decode(answer: Json, texts: readonly string[]): readonly ServiceFinding[];
}

export interface ServiceRequest {
  readonly request: UpstreamRequest;
  /**
   * Takes note of an answer without success, and says whether another credential may be tried; absent where there is
   * none.
   */
  readonly refused?: (answer: ErrorAnswer) => boolean;
}

interface EndpointContext {
  /** As it is configured, and not as the caller of a call sees it. */
  readonly snapshot: Snapshot;
  readonly providers: ReadonlyMap<string, Provider>;
  readonly credentials: CredentialProvider;
  readonly now: () => number;
}

/** Throws GatewayError where the configuration has no such service. */
export function endpointOf({ place, options }: GuardService, context: EndpointContext): ServiceEndpoint {
  if ("provider" in place) return providerEndpoint(place, options, context);
  const form = SERVICE_FORMS[place.type];
  return {
    maxTexts: form.maxTexts,
    maxCharacters: form.maxCharacters,
    guarded: place.guarded,
    account: "",
    request: (question) => ({ request: form.encode(question, place, options) }),
    decode: (answer, texts) => form.decode(answer, texts, options),
  };
}

type ProviderPlace = Extract<GuardServicePlace, { readonly type: ProviderServiceType }>;

function providerEndpoint(
  place: ProviderPlace,
  options: GuardService["options"],
  { snapshot, providers, credentials, now }: EndpointContext,
): ServiceEndpoint {
  const { tenantId, projectId } = place;
  const seen = tenantId === null ? snapshot : snapshotSeenBy(snapshot, { tenantId, projectId });
  const {
    target,
    provider,
    credentials: stored,
  } = targetFor(place.provider, place.model, NOTHING_BROUGHT, seen, providers);
  const form = provider.judging?.[place.type];
  if (form === undefined)
    throw new GatewayError("invalid_request", `${provider.label} has no service of the type ${place.type}.`);
  requireAllowed(place, seen);
  const { settings, providerId } = target;
  const server = serverOf(seen.providers.get(providerId)!);
  return {
    maxTexts: form.maxTexts,
    maxCharacters: form.maxCharacters,
    guarded: target.guardedField !== null,
    account: JSON.stringify([target.baseUrl, target.settings, stored.map(fingerprint)]),
    request(question, signal) {
      const request = form.encode(question, target, options);
      const { model } = target;
      const context = { providerId, server, model, label: provider.label, signal, stickyKey: null, tried: NONE_TRIED };
      const resolving = stored.length === 0 ? null : credentials.resolve(stored, context);
      return whenReady(resolving, (credential: Credential | null) =>
        whenReady(provider.sign(request, credential, { nowMs: now(), settings }), (signed) => ({
          request: signed,
          refused(answer: ErrorAnswer) {
            const failure = provider.classifyError(answer);
            const means = REFUSALS[failure.class].credential;
            if (credential === null || means === undefined) return false;
            if (means === "rests") credentials.limited(credential, failure.retryAfterMs ?? null, context);
            else credentials.refused(credential, means, context);
            return stored.length > 1 && credentials.isAnotherAble(stored, context);
          },
        })),
      );
    },
    decode: (answer, texts) => form.decode(answer, texts, options),
  };
}

/** Whoever writes a tenant's policy may spend only what the tenant may call. Throws GatewayError. */
function requireAllowed({ type, provider, model, isTrusted, ...place }: ProviderPlace, seen: Snapshot): void {
  if (isTrusted) return;
  const isAllowed =
    type === "moderation"
      ? isEnabled(seen, place, `${provider}:${model}`)
      : seen.providers.get(provider)?.owner !== undefined;
  if (!isAllowed)
    throw new GatewayError(
      "model_not_found",
      type === "moderation"
        ? `the model ${JSON.stringify(`${provider}:${model}`)} is not enabled here`
        : `a policy of a tenant uses ${type} of a provider of its own, and ${JSON.stringify(provider)} is the gateway's`,
    );
}
