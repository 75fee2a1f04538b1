// Promise 16.4 through the whole gateway, in the forms of vendors' services: what they are asked, what of their answers is
// masked, and wrong answers.
import { describe, expect, test } from "bun:test";
import { fakeService, type FakeService } from "../../harness/servers/outside-guard.ts";
import { type CannedAnswer, cannedUpstream, type Stub, stubGateway } from "../../harness/in-process.ts";
import { providerSettings, storedKey } from "../../harness/targets.ts";
import { openaiAnswer } from "../../harness/servers/upstream.ts";
import { policiesFor, configuredPolicy } from "../../policies/policy-documents.ts";
import { compilePolicies } from "../../../src/policies/compile-policies.ts";
import type { ProviderSettings } from "../../../src/core/snapshot.ts";

const KEY = "0123456789abcdef";
const PROVIDERS: readonly ProviderSettings[] = [
  providerSettings({ id: "up", family: "custom", baseUrl: "http://up.test/v1", credentials: [storedKey("key")] }),
  providerSettings({
    id: "openai",
    baseUrl: "https://judge.openai.test/v1",
    credentials: [storedKey("sk-first"), storedKey("sk-second")],
  }),
  providerSettings({
    id: "aws",
    family: "bedrock",
    baseUrl: "https://bedrock-runtime.{region}.amazonaws.com",
    settings: { region: "eu-central-1" },
    credentials: [
      {
        kind: "aws_keys",
        accessKeyId: "AKIAEXAMPLE",
        secretAccessKey: "aws-secret",
        sessionToken: null,
        weight: 1,
        fromCaller: false,
      },
    ],
  }),
  providerSettings({
    id: "google",
    family: "vertex",
    baseUrl: "https://aiplatform.googleapis.com",
    settings: { project: "acme", location: "europe-west4" },
    credentials: [{ kind: "token", secret: "google-token", weight: 1, fromCaller: false }],
  }),
];

interface Form {
  readonly service: Record<string, unknown>;
  /** Where its requests go. */
  readonly url: string;
  /** The headers that identify the gateway. */
  readonly headers: Readonly<Record<string, unknown>>;
  readonly body: (texts: readonly string[], place: "input" | "output") => object;
  /** An answer about one text that finds nothing. */
  readonly clean: object;
  /** An answer about "Ada said bad things", and what becomes of that text. */
  readonly found: object;
  readonly shown: string;
  readonly labels: readonly string[];
  /** Answers that are none, with the reason in the record. */
  readonly wrong: readonly (readonly [answer: object, why: string])[];
  /** Answers that find something in another way, and what becomes of the text. */
  readonly others?: readonly (readonly [answer: object, shown: string, more?: object])[];
}

const TEXT = "Ada said bad things";
const ANSWER = "Bob did not.";
const MASK = "[masked]";
const filters = (filterResults: object): object => ({
  sanitizationResult: { filterMatchState: "MATCH_FOUND", filterResults, invocationResult: "SUCCESS" },
});
const sdp = (finding: object): object =>
  filters({ sdp: { sdpFilterResult: { inspectResult: { matchState: "MATCH_FOUND", findings: [finding] } } } });

const FORMS: Readonly<Record<string, Form>> = {
  presidio: {
    service: {
      type: "presidio",
      url: "http://guard.test/",
      language: "de",
      entities: ["PERSON"],
      score_threshold: 0.4,
    },
    url: "http://guard.test/analyze",
    headers: {},
    body: (texts) => ({ text: texts, language: "de", entities: ["PERSON"], score_threshold: 0.4 }),
    clean: [[]],
    found: [[{ entity_type: "PERSON", start: 0, end: 3, score: 0.85, analysis_explanation: null }]],
    shown: `${MASK} said bad things`,
    labels: ["PERSON"],
    wrong: [
      [[], "is not a list with findings for each text"],
      [[[{ start: 0, end: 90, entity_type: "PERSON" }]], "has a finding outside of its text"],
      [[[{ start: "0", end: 3 }]], "are not whole numbers in their order"],
    ],
  },
  content_safety: {
    service: {
      type: "content_safety",
      url: "http://guard.test",
      headers: { "Ocp-Apim-Subscription-Key": KEY },
      blocklists: ["names"],
    },
    url: "http://guard.test/contentsafety/text:analyze?api-version=2024-09-01",
    headers: { "ocp-apim-subscription-key": KEY },
    body: ([text]) => ({ text, blocklistNames: ["names"], haltOnBlocklistHit: false }),
    clean: { blocklistsMatch: [], categoriesAnalysis: [{ category: "Hate", severity: 2 }] },
    found: {
      blocklistsMatch: [{ blocklistName: "names", blocklistItemId: "1", blocklistItemText: "Ada" }],
      categoriesAnalysis: [{ category: "Hate", severity: 0 }],
    },
    shown: `${MASK} said bad things`,
    labels: ["names"],
    wrong: [
      [{}, "has no list `categoriesAnalysis`"],
      [{ categoriesAnalysis: [{ category: "Hate", severity: "high" }] }, "has a category without a severity"],
    ],
    others: [
      [{ categoriesAnalysis: [{ category: "Hate", severity: 4 }] }, MASK],
      [{ categoriesAnalysis: [{ category: "Hate", severity: 4 }] }, TEXT, { least_severity: 6 }],
      [{ categoriesAnalysis: [], blocklistsMatch: [{ blocklistName: "names", blocklistItemText: "ADA" }] }, MASK],
    ],
  },
  lakera: {
    service: {
      type: "lakera",
      url: "http://guard.test",
      headers: { Authorization: "Bearer lakera-key" },
      project: "project-1",
    },
    url: "http://guard.test/v2/guard",
    headers: { authorization: "Bearer lakera-key" },
    body: ([content], place) => ({
      messages: [{ role: place === "output" ? "assistant" : "user", content }],
      project_id: "project-1",
      payload: true,
      breakdown: true,
    }),
    clean: { flagged: false, payload: [], breakdown: [{ detector_type: "prompt_attack", detected: false }] },
    found: {
      flagged: true,
      payload: [{ start: 0, end: 3, text: "Ada", detector_type: "pii/name", labels: [], message_id: 0 }],
      breakdown: [{ detector_type: "pii/name", detected: true, message_id: 0 }],
    },
    shown: `${MASK} said bad things`,
    labels: ["pii/name"],
    wrong: [
      [{ payload: [] }, "does not say whether the text is flagged"],
      [{ flagged: "yes" }, "does not say whether the text is flagged"],
    ],
    others: [
      [{ flagged: true, payload: [], breakdown: [{ detector_type: "prompt_attack", detected: true }] }, MASK],
      [{ flagged: true }, MASK],
      [{ flagged: true, payload: [{ text: "Bob", detector_type: "pii/name" }] }, MASK],
    ],
  },
  moderation: {
    service: { type: "moderation", provider: "openai", model: "omni-moderation-latest" },
    url: "https://judge.openai.test/v1/moderations",
    headers: { authorization: expect.stringMatching(/^Bearer sk-(first|second)$/) },
    body: (input) => ({ model: "omni-moderation-latest", input }),
    clean: { results: [{ flagged: false, categories: { hate: false }, category_scores: { hate: 0.3 } }] },
    found: { results: [{ flagged: true, categories: { hate: true, violence: false }, category_scores: {} }] },
    shown: MASK,
    labels: ["hate"],
    wrong: [
      [{ results: [] }, "has no list with a result for each text"],
      [{ error: { message: "no" } }, "has no list with a result for each text"],
      [{ results: [{ flagged: true }] }, "has a result without categories"],
    ],
    others: [
      [{ results: [{ categories: { hate: true } }] }, TEXT, { entities: ["violence"] }],
      [{ results: [{ categories: { hate: true }, category_scores: { hate: 0.3 } }] }, TEXT, { score_threshold: 0.4 }],
      [{ results: [{ categories: { hate: false }, category_scores: { hate: 0.3 } }] }, MASK, { score_threshold: 0.2 }],
      [{ results: [{ flagged: true, categories: {} }] }, MASK],
    ],
  },
  guardrails: {
    service: { type: "guardrails", provider: "aws", guardrail: "gr1abc", version: "3" },
    url: "https://bedrock-runtime.eu-central-1.amazonaws.com/guardrail/gr1abc/version/3/apply",
    headers: {
      authorization: expect.stringMatching(
        /^AWS4-HMAC-SHA256 Credential=AKIAEXAMPLE\/\d{8}\/eu-central-1\/bedrock\/aws4_request, SignedHeaders=[^,]*host[^,]*, Signature=[0-9a-f]{64}$/,
      ),
    },
    body: ([text], place) => ({ source: place === "output" ? "OUTPUT" : "INPUT", content: [{ text: { text } }] }),
    clean: { action: "NONE", outputs: [], assessments: [{}] },
    found: {
      action: "GUARDRAIL_INTERVENED",
      outputs: [{ text: "{NAME} said bad things" }],
      assessments: [
        {
          sensitiveInformationPolicy: {
            piiEntities: [{ match: "Ada", type: "NAME", action: "ANONYMIZED" }],
            regexes: [{ name: "things", match: "things", action: "NONE" }],
          },
          invocationMetrics: { guardrailProcessingLatency: 7 },
        },
      ],
    },
    shown: `${MASK} said bad things`,
    labels: ["NAME"],
    wrong: [
      [{ assessments: [] }, "has no action of a guardrail"],
      [[], "has no action of a guardrail"],
    ],
    others: [
      [
        {
          action: "GUARDRAIL_INTERVENED",
          assessments: [{ topicPolicy: { topics: [{ name: "Gossip", type: "DENY", action: "BLOCKED" }] } }],
        },
        MASK,
      ],
      [
        {
          action: "GUARDRAIL_INTERVENED",
          assessments: [{ wordPolicy: { customWords: [{ match: "bad", action: "BLOCKED" }], managedWordLists: [] } }],
        },
        `Ada said ${MASK} things`,
      ],
      [{ action: "GUARDRAIL_INTERVENED" }, MASK],
    ],
  },
  model_armor: {
    service: { type: "model_armor", provider: "google", template: "strict" },
    url: "https://modelarmor.europe-west4.rep.googleapis.com/v1/projects/acme/locations/europe-west4/templates/strict:",
    headers: { authorization: "Bearer google-token" },
    body: ([text], place) => (place === "output" ? { modelResponseData: { text } } : { userPromptData: { text } }),
    clean: {
      sanitizationResult: { filterMatchState: "NO_MATCH_FOUND", filterResults: {}, invocationResult: "SUCCESS" },
    },
    found: sdp({ infoType: "PERSON_NAME", location: { byteRange: { end: "3" }, codepointRange: { end: "3" } } }),
    shown: `${MASK} said bad things`,
    labels: ["PERSON_NAME"],
    wrong: [
      [{}, "does not say whether a filter has matched"],
      [
        { sanitizationResult: { filterMatchState: "NO_MATCH_FOUND", invocationResult: "PARTIAL" } },
        "says that not all filters have run",
      ],
      [sdp({ location: { codepointRange: { start: "1", end: "99" } } }), "has a finding outside of its text"],
    ],
    others: [
      [
        filters({
          rai: {
            raiFilterResult: {
              matchState: "MATCH_FOUND",
              raiFilterTypeResults: { harassment: { matchState: "MATCH_FOUND" } },
            },
          },
        }),
        MASK,
      ],
      [
        filters({
          malicious_uris: {
            maliciousUriFilterResult: { matchState: "MATCH_FOUND", maliciousUriMatchedItems: [{ uri: "bad" }] },
          },
          pi_and_jailbreak: { piAndJailbreakFilterResult: { matchState: "NO_MATCH_FOUND" } },
        }),
        `Ada said ${MASK} things`,
      ],
      [filters({}), MASK],
    ],
  },
};

type Place = NonNullable<Parameters<typeof configuredPolicy>[1]>;
interface Stage {
  readonly stub: Stub;
  readonly service: FakeService;
}
function stage({ service, url }: Form, judge: (nth: number) => object | CannedAnswer, more: object = {}): Stage {
  const upstream = cannedUpstream({ body: JSON.stringify(openaiAnswer(ANSWER)) });
  const { origin } = new URL(url);
  const asked = fakeService((_body, nth) => judge(nth), upstream, origin);
  const policy = {
    name: "judged",
    ...more,
    guard: { action: "mask", service: { ...service, ...(more as { service?: object }).service } },
  };
  delete (policy as { service?: object }).service;
  const stub = stubGateway({
    upstream: asked.upstream,
    providers: PROVIDERS,
    snapshot: { policies: policiesFor(policy) },
  });
  return { stub, service: asked };
}
const say = async ({ stub }: Stage): Promise<{ readonly status: number; readonly body: any; readonly sent: any }> => {
  const response = await stub.chat({ model: "up:m", messages: [{ role: "user", content: TEXT }] });
  const toProvider = stub.sent.find(({ url }) => url.startsWith("http://up.test"));
  const sent = toProvider === undefined ? null : JSON.parse(toProvider.body).messages[0].content;
  return { status: response.status, body: await response.json(), sent };
};

for (const [type, form] of Object.entries(FORMS))
  describe(`the service ${type}`, () => {
    test("[d16.4] is asked as its vendor's page says, about the request and the answer", async () => {
      const on = stage(form, () => form.clean);
      const { body, sent } = await say(on);
      expect([sent, body.choices[0].message.content]).toEqual([TEXT, ANSWER]);
      expect(on.service.asked.map(({ body: asked }) => asked)).toEqual([
        form.body([TEXT], "input"),
        form.body([ANSWER], "output"),
      ]);
      for (const { url, headers } of on.service.asked) {
        expect(url.startsWith(form.url)).toBe(true);
        expect(headers).toMatchObject({ ...form.headers, "content-type": "application/json" });
      }
    });

    test("[d16.4] masks what it finds", async () => {
      const on = stage(form, () => form.found);
      const { sent } = await say(on);
      expect(sent).toBe(form.shown);
      expect(on.stub.records[0]!.guardServices[0]).toMatchObject({ type, found: form.labels, failures: 0 });
    });

    for (const [index, [answer, shown, more]] of (form.others ?? []).entries())
      test(`[d16.4] finds in other ways (${index + 1})`, async () => {
        const on = stage(form, () => answer, more === undefined ? {} : { service: more });
        expect((await say(on)).sent).toBe(shown);
      });

    for (const [index, [answer, why]] of form.wrong.entries())
      test(`[d16.4] gives no verdict with a wrong answer (${index + 1}), and the call is refused`, async () => {
        const on = stage(form, () => answer);
        const { status, sent } = await say(on);
        expect([status, sent]).toEqual([403, null]);
        expect(on.stub.records[0]!.policies[0]!.why).toContain(why);
      });
  });

test("[d16.4] a denied topic of a guardrail is recorded by its name", async () => {
  const topics = [{ name: "Gossip", type: "DENY", action: "BLOCKED" }];
  const answer = { action: "GUARDRAIL_INTERVENED", assessments: [{ topicPolicy: { topics } }] };
  const on = stage(FORMS["guardrails"]!, () => answer);
  await say(on);
  expect(on.stub.records[0]!.guardServices[0]!.found).toEqual(["Gossip"]);
});

describe("a service of a configured provider", () => {
  const form = FORMS["moderation"]!;

  test.each([
    [401, "invalid_api_key"],
    [429, "rate_limit_exceeded"],
    [429, "insufficient_quota"],
  ])("[d16.4 d7.1] that refuses the credential with %d %s is asked with another one at once", async (status, code) => {
    const refused = { status, body: JSON.stringify({ error: { message: "not with this key", code } }) };
    const on = stage(form, (nth) => (nth === 1 ? refused : form.clean));
    expect((await say(on)).status).toBe(200);
    const [first, second, ...more] = on.service.asked.map(({ headers }) => headers["authorization"]);
    expect(first).not.toBe(second);
    // the answer is judged with the key that is left
    expect(more).toEqual([second]);
    const none = stage(form, () => refused);
    expect((await say(none)).status).toBe(403);
    expect(none.service.asked).toHaveLength(2);
    expect(none.stub.records[0]!.policies[0]!.why).toBe(`the service answered with the status ${status}`);
  });

  test("[d16.4 d7.5] that has failed too often is asked again with another key of its provider", async () => {
    let isDown = true;
    const on = stage(form, () => (isDown ? { status: 500, body: "{}" } : form.clean));
    for (let times = 0; times < 6; times++) expect((await say(on)).status).toBe(403);
    expect(on.stub.records.at(-1)!.policies[0]!.why).toContain("is not asked for a while");
    isDown = false;
    expect((await say(on)).status).toBe(403);
    const before = on.stub.context.snapshot();
    const replaced = { ...before.providers.get("openai")!, credentials: [storedKey("sk-fresh")] };
    const providers = new Map(before.providers).set("openai", replaced);
    Object.assign(on.stub.context, { snapshot: () => ({ ...before, version: 2, providers }) });
    expect((await say(on)).status).toBe(200);
  });

  const ownedBy = (place: Place, document: object, providers: readonly ProviderSettings[]): Stage => {
    const upstream = cannedUpstream({ body: JSON.stringify(openaiAnswer(ANSWER)) });
    const service = fakeService(() => FORMS["guardrails"]!.clean, upstream, "https://bedrock-runtime.");
    const policies = compilePolicies([
      configuredPolicy({ name: "judged", guard: { action: "mask", service: document } }, place),
    ]);
    const own = new Map([...PROVIDERS, ...providers].map((one) => [one.id, one]));
    const stub = stubGateway({
      upstream: service.upstream,
      providers: PROVIDERS,
      snapshot: { policies, ...(providers.length > 0 && { tenantProviders: new Map([["default", own]]) }) },
    });
    return { stub, service };
  };
  const TENANTS = { tenantId: "default", origin: "store" } as const;
  const GUARDRAILS = FORMS["guardrails"]!.service;

  test("[d16.4] a tenant's own policy does not use guardrails of the gateway's provider, and the operator's does", async () => {
    const on = ownedBy(TENANTS, GUARDRAILS, []);
    expect((await say(on)).status).toBe(403);
    expect(on.service.asked).toEqual([]);
    expect(on.stub.records[0]!.policies[0]!.why).toContain('uses guardrails of a provider of its own, and "aws"');
    expect((await say(ownedBy({ ...TENANTS, byOperator: true }, GUARDRAILS, []))).status).toBe(200);
  });

  test("[d16.4] a policy uses the provider of its own scope, so that a tenant's provider of the same name is not asked by the gateway's policy", async () => {
    const own = { ...PROVIDERS[2]!, settings: { region: "us-east-1" }, owner: "default" };
    const asked = async (place: Place): Promise<string> => {
      const on = ownedBy(place, GUARDRAILS, [own]);
      expect((await say(on)).status).toBe(200);
      return on.service.asked[0]!.url;
    };
    expect(await asked({})).toContain("eu-central-1");
    expect(await asked(TENANTS)).toContain("us-east-1");
  });

  test("[d16.4] that is not there gives no verdict, and the reason says so", async () => {
    const on = ownedBy({}, { ...GUARDRAILS, provider: "up" }, []);
    expect((await say(on)).status).toBe(403);
    expect(on.stub.records[0]!.policies[0]!.why).toContain("has no service of the type guardrails");
  });
});
