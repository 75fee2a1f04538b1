// docs/guard-services.md: its configuration loads, and its examples of the gateway's own request are what it sends and reads.
import { expect, test } from "bun:test";
import { readEnvironment } from "../../src/config/environment.ts";
import { GUARD_SERVICE_TYPES } from "../../src/core/configured/outside-guard.ts";
import { PROVIDER_FAMILIES } from "../../src/process/parts/provider-families.ts";
import { compileService, serviceSettings } from "../../src/guards/outside/outside-settings.ts";
import { OWN_REQUEST } from "../../src/guards/outside/judging-forms.ts";
import type { ServiceAddress } from "../../src/providers/interface/judging-form.ts";
import { parseConfiguration } from "../../src/snapshot/configuration.ts";
import { writtenFile } from "../cli/written-files.ts";
import { fencesOf, readPage } from "./pages.ts";

const page = readPage("docs/guard-services.md");
const [yaml, ...others] = fencesOf(page)
  .filter(({ info }) => info === "yaml")
  .map(({ text }) => text);
const [request, answer] = fencesOf(page)
  .filter(({ info }) => info === "json")
  .map(({ text }) => JSON.parse(text) as Record<string, any>);

const policiesIn = (text: string): ReturnType<typeof parseConfiguration>["policies"] =>
  parseConfiguration({
    file: "docs/guard-services.md",
    text: text.replaceAll(/\/run\/secrets\/\w+/g, writtenFile("a-key")),
    families: PROVIDER_FAMILIES,
    environment: readEnvironment({}),
  }).policies;

test("[d16.4] the configuration on the page loads", () => {
  const policies = policiesIn(yaml!);
  expect(Object.values(policies).map(({ guard }) => guard!.service!.type)).toEqual(["presidio", "request"]);
  expect(policies["house-rules"]!.guard!.service!.headers).toEqual({ authorization: "Bearer a-key" });
});

test("[d16.4] the configurations of vendors' services load", () => {
  const types = others.flatMap((text) => Object.values(policiesIn(text)).map(({ guard }) => guard!.service!.type));
  expect(types).toEqual(["content_safety", "lakera", "moderation", "guardrails", "model_armor"]);
});

test("[d16.4] a service has the fields of its type, and a provider that there is", () => {
  const fault = (service: string): string => {
    try {
      policiesIn(`policies: {one: {guard: {action: block, service: {${service}}}}}`);
      return "";
    } catch (thrown) {
      return String(thrown);
    }
  };
  expect(fault("type: moderation, provider: openai")).toContain("a service of the type moderation needs it");
  expect(fault("type: lakera, provider: openai, url: http://a.test")).toContain(
    "a service of the type lakera has none",
  );
  expect(fault("type: guardrails, provider: nowhere, guardrail: a")).toMatch(
    /policies\.one\.guard\.service\.provider.*there is no provider with this id/,
  );
  expect(fault("type: guardrails, provider: bedrock, guardrail: a, url: http://a.test")).toContain("has none");
});

test("[d16.4] the example of a request is what is sent, and the example of an answer is read", () => {
  const settings = serviceSettings.parse({ type: "request", url: "https://judge.example.com/" });
  const { place: address, options } = compileService(settings, { tenantId: null, projectId: null, isTrusted: true });
  const { texts, place, policy } = request!;
  expect(JSON.parse(OWN_REQUEST.encode({ texts, place, policy }, address as ServiceAddress, options).body)).toEqual(
    request!,
  );
  expect(OWN_REQUEST.decode(answer as never, texts, options)).toEqual([
    { text: 0, span: { start: 6, end: 9 }, label: "PERSON" },
  ]);
});

test("[d16.4] the page has every type of service", () => {
  for (const type of GUARD_SERVICE_TYPES) expect(page.text).toContain(`\`type: ${type}\``);
});
