// What the admin API shows of the configuration file.
import { expect, test } from "bun:test";
import { readEnvironment } from "../../../../src/config/environment.ts";
import { fileDocuments } from "../../../../src/http/admin/configured/file-documents.ts";
import { PROVIDER_FAMILIES } from "../../../../src/process/parts/provider-families.ts";
import { providers } from "../../../../src/providers/registry.ts";
import { parseConfiguration } from "../../../../src/snapshot/configuration.ts";

const settingsOf = (text: string): unknown => {
  const configuration = parseConfiguration({
    file: "f.yaml",
    text,
    families: PROVIDER_FAMILIES,
    environment: readEnvironment({}),
  });
  const inFile = fileDocuments({
    families: PROVIDER_FAMILIES,
    providers,
    snapshot: () => {
      throw new Error("documents of the file need no snapshot");
    },
    configuration: () => configuration,
  });
  return inFile("setting", { tenantId: "acme", projectId: "site" }, { isOperator: false })[0]?.document;
};

test("settings of the file are shown as they are written there", () => {
  const shown = (settings: object): unknown => settingsOf(JSON.stringify({ projects: { site: { settings } } }));
  const written = [
    { drop_params: true },
    { prompt_cache: "auto" },
    { prompt_cache: false },
    { cache: false },
    { cache: { ttl_s: 60, scope: "user" } },
    { responses: { store: "off" } },
    { client_deviations: { client_version_listing: false } },
    { content_log: { enabled: false, retention_days: 3, redact: { national_ids: ["de_tax_id"] } } },
    { models: ["sandbox:*"] },
  ];
  expect(written.map(shown)).toEqual(written);
  expect(shown({})).toBeUndefined();
});
