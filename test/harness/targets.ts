// Targets, credentials and settings of providers for tests, with defaults for everything that a test does not set.
import type { StoredCredential } from "../../src/core/configured/credential.ts";
import type { ProviderSettings } from "../../src/core/snapshot.ts";
import type { Credential, Target } from "../../src/core/target.ts";
import type { Provider, SignContext } from "../../src/providers/interface/provider.ts";

const HOME = "https://models.example/v1";

/** Settings that stand in every address are filled in with their own names: `https://bedrock-runtime.region.amazonaws.com`. */
export function targetFor(
  { id, baseUrl, settings }: Pick<Provider, "id" | "baseUrl" | "settings">,
  overrides: Partial<Target> = {},
): Target {
  const values = Object.fromEntries(
    settings
      .filter(({ name }) => name === "project" || baseUrl?.includes(`{${name}}`) === true)
      .map(({ name, default: fallback }) => [name, fallback ?? name.replaceAll("_", "-")]),
  );
  const address = (baseUrl ?? HOME).replaceAll(/\{(\w+)\}/g, (_, name: string) => values[name] ?? name);
  return {
    providerId: id,
    family: id,
    model: "m",
    baseUrl: address,
    credential: null,
    settings: values,
    facts: { contextTokens: null, maxOutputTokens: null },
    headers: {},
    guardedField: null,
    isCallersAddress: false,
    sharesConnections: false,
    ...overrides,
  };
}

export function keyCredential(secret: string, fromCaller = false): Credential {
  return { kind: "key", secret, fromCaller };
}

export function storedKey(secret: string): StoredCredential {
  return { kind: "key", secret, weight: 1, fromCaller: false };
}

export const SIGN_CONTEXT: SignContext = { nowMs: 1_767_225_600_000, settings: {} };

/** Enabled, without a credential unless one is given. */
export function providerSettings(settings: Pick<ProviderSettings, "id"> & Partial<ProviderSettings>): ProviderSettings {
  return { family: settings.id, baseUrl: null, credentials: [], settings: {}, enabled: true, models: [], ...settings };
}
