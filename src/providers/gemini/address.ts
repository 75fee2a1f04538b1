// The start of an address of a Google API: host and version. https://cloud.google.com/apis/design/versioning
import { invalidRequest } from "../../core/refusals.ts";
import type { ProviderSetting } from "../interface/provider-declaration.ts";

/** A base address, and the version that the call requests in its settings. */
export interface VersionedBase {
  readonly baseUrl: string;
  readonly settings: Readonly<Record<string, string>>;
}

/**
 * Some clients' base addresses end with the version, which must not be added twice. Throws GatewayError
 * `invalid_request` when the setting is not a version.
 */
export function versionedBase({ baseUrl, settings }: VersionedBase, otherwise: string): string {
  const [, host, version] = /^(.*?)(?:\/(v1(?:alpha|beta)?\d*))?$/s.exec(baseUrl.replace(/\/+$/, ""))!;
  const requested = settings["api_version"];
  if (requested !== undefined && !/^v\d[a-z0-9]*$/i.test(requested))
    throw invalidRequest("api_version", `api_version must be a version of Google's API, such as "${otherwise}".`);
  return `${host}/${requested ?? version ?? otherwise}`;
}

export const API_VERSION: Pick<ProviderSetting, "name" | "variables" | "field"> = {
  name: "api_version",
  variables: [],
  field: "api_version",
};
