// Tests for a route that has none, made of its recorded calls: what most calls ask for, what happens to them while their
// target is down, and the most frequent calls that ask for something else. Each of them holds when it is suggested.
import type { RouteTest } from "../routing/test-settings.ts";
import type { RecordedCall } from "../store/calls/calls.ts";
import { answeringTarget, type TestedRoute, testResults } from "./route-tests.ts";

const MOST_TESTS = 3;
/** Parameters that every target takes say nothing of a call. */
const TELLING: ReadonlySet<string> = new Set([
  "tools",
  "response_format",
  "logprobs",
  "n",
  "reasoning_effort",
  "audio",
  "seed",
  "logit_bias",
  "prediction",
  "web_search_options",
]);
const CONTENT = ["image_url", "input_audio", "file"] as const;

type When = RouteTest["when"];

function whenOf({ operation, parameters, messages }: RecordedCall): When | null {
  if (operation !== "chat.completions") return null;
  const telling = parameters.filter((name) => TELLING.has(name)).toSorted();
  const content = CONTENT.filter((type) => messages?.blocks.includes(type) === true);
  return { ...(telling.length > 0 && { parameters: telling }), ...(content.length > 0 && { content }) };
}

export function suggestedTests(calls: readonly RecordedCall[], route: TestedRoute): readonly RouteTest[] {
  const kinds = Map.groupBy(
    calls.map(whenOf).filter((when) => when !== null),
    (when) => JSON.stringify(when),
  );
  const whens = [...kinds.values()].toSorted((a, b) => b.length - a.length).map(([when]) => when!);
  const [usual] = whens;
  if (usual === undefined) return [];
  const first = expecting(usual, route);
  const down = first === null ? null : expecting({ ...usual, down: [first.expect.target as string] }, route);
  const tests = [first, down, ...whens.slice(1).map((when) => expecting(when, route))].filter((test) => test !== null);
  return tests.slice(0, MOST_TESTS).filter((test) => testResults([test], route)[0]!.fault === null);
}

/** The test that a call ends where it would end now; `null` where a strategy that draws lots does not always end it there. */
function expecting(when: When, route: TestedRoute): RouteTest | null {
  const target = answeringTarget(when, route);
  if (target === null) return null;
  const test = { name: titleOf(when), when, expect: { target } };
  return testResults([test], route)[0]!.fault === null ? test : null;
}

function titleOf({ parameters = [], content = [], down = [] }: When): string {
  const asked = [...parameters, ...content].join(", ");
  return `${asked === "" ? "text" : asked}${down.length === 0 ? "" : ` while ${down.join(", ")} is down`}`.slice(
    0,
    100,
  );
}
