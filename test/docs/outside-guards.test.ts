// docs/guard-services.md: its configuration loads, and its examples of the gateway's own request are what it sends and reads.
import { expect, test } from "bun:test";
import { readEnvironment } from "../../src/config/environment.ts";
import { GUARD_SERVICE_TYPES } from "../../src/core/configured/outside-guard.ts";
import { PROVIDER_FAMILIES } from "../../src/gateway-parts/provider-families.ts";
import { compileService, serviceSettings } from "../../src/guards/outside/outside-settings.ts";
import { OWN_REQUEST } from "../../src/guards/outside/own-request.ts";
import { parseConfiguration } from "../../src/snapshot/configuration.ts";
import { writtenFile } from "../cli/written-files.ts";
import { fencesOf, readPage } from "./pages.ts";

const page = readPage("docs/guard-services.md");
const yaml = fencesOf(page).find(({ info }) => info === "yaml")!.text;
const [request, answer] = fencesOf(page)
  .filter(({ info }) => info === "json")
  .map(({ text }) => JSON.parse(text) as Record<string, any>);

test("[d16.4] the configuration on the page loads", () => {
  const text = yaml.replace("/run/secrets/judge_key", writtenFile("a-key"));
  const { policies } = parseConfiguration({
    file: "docs/guard-services.md",
    text,
    families: PROVIDER_FAMILIES,
    environment: readEnvironment({}),
  });
  expect(Object.values(policies).map(({ guard }) => guard!.service!.type)).toEqual(["presidio", "request"]);
  expect(policies["house-rules"]!.guard!.service!.headers).toEqual({ authorization: "Bearer a-key" });
});

test("[d16.4] the example of a request is what is sent, and the example of an answer is read", () => {
  const settings = serviceSettings.parse({ type: "request", url: "https://judge.example.com/" });
  const service = compileService(settings, { tenantId: null, isTrusted: true });
  const { texts, place, policy } = request!;
  expect(JSON.parse(OWN_REQUEST.encode({ texts, place, policy }, service).body)).toEqual(request!);
  expect(OWN_REQUEST.decode(answer as never, texts, service)).toEqual([
    { text: 0, span: { start: 6, end: 9 }, label: "PERSON" },
  ]);
});

test("[d16.4] the page has every type of service", () => {
  for (const type of GUARD_SERVICE_TYPES) expect(page.text).toContain(`\`type: ${type}\``);
});
