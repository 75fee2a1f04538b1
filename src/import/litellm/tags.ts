// Tags of LiteLLM's deployments, by which calls are divided where `enable_tag_filtering` is on, as conditions of targets.
// https://docs.litellm.ai/docs/proxy/tag_routing
import { isOff, isOn, itemsOf, textOf, textsOf } from "../figures.ts";
import type { ImportContext } from "../gateway-import.ts";
import { conditionProblem, literally } from "../usable-condition.ts";
import type { Deployment } from "./deployment.ts";

/** Deployments with this tag take the calls that no other tag is for. */
const DEFAULT_TAG = "default";
const HEADER = "x-litellm-tags";
const OF_THE_HEADER = `headers["${HEADER}"]`;
/** An empty list counts as no tags. */
const HAS_TAGS = `has(request.metadata.tags) && !(request.metadata.tags in [[], null]) || ${OF_THE_HEADER} != ""`;
const HOW = `tags in the metadata of a call and in its header ${HEADER} count, and neither those of its key nor a member tags beside the metadata`;
const USER_AGENT = 'headers["user-agent"]';

/** Headers that the conditions read, as they stand in `server.condition_headers`. */
type Headers = Set<string>;

/** Returns the conditions of those deployments of one name that are not for all calls. */
export function tagConditions(
  deployments: readonly Deployment[],
  route: string,
  { claims, draft, foreign }: ImportContext,
  headers: Headers,
): ReadonlyMap<Deployment, string> {
  const router = foreign.root.members.get("router_settings")?.members;
  const given = ["tags", "tag_regex"].flatMap((key) => deployments.flatMap(({ settings }) => settings.get(key) ?? []));
  if (!isOn(router?.get("enable_tag_filtering"))) {
    for (const node of given) claims.without(node, "without enable_tag_filtering, tags decide nothing there");
    return new Map();
  }
  const matchesAll = isOff(router?.get("tag_filtering_match_any"));
  const targets = (): readonly string[] => [`routes.${route}.targets`];
  const patterns = new Map(deployments.map((each) => [each, patternsOf(each, matchesAll, targets, claims)]));
  const tagged = deployments.filter(
    (each) => patterns.get(each)!.length > 0 || (tagsOf(each).length > 0 && !tagsOf(each).includes(DEFAULT_TAG)),
  );
  if (tagged.length === 0) return new Map();
  const byPattern = [...new Set(tagged.flatMap((each) => patterns.get(each)!))];
  const matches = new Map(
    tagged.map((each) => [
      each,
      anyOf([...(tagsOf(each).length > 0 ? [matching(tagsOf(each), matchesAll)] : []), ...patterns.get(each)!]),
    ]),
  );
  const hasDefault = tagged.length < deployments.length;
  const asks = anyOf([HAS_TAGS, ...byPattern]);
  const otherwise = `!(${anyOf(new Set(matches.values()))})`;
  headers.add(HEADER);
  if (byPattern.length > 0) headers.add("user-agent");
  draft.set("server", ["condition_headers"], [...headers].toSorted());
  for (const { settings } of deployments) claims.changed(settings.get("tags"), targets, HOW);
  for (const name of ["enable_tag_filtering", "tag_filtering_match_any"])
    claims.changed(router?.get(name), targets, "targets have conditions: docs/routes.md#conditions");
  return new Map(
    deployments.map((each) => {
      const match = matches.get(each);
      if (match === undefined) return [each, otherwise];
      return [each, hasDefault ? match : `!(${asks}) || ${match}`];
    }),
  );
}

function tagsOf({ settings }: Deployment): readonly string[] {
  return textsOf(settings.get("tags"));
}

export function anyOf(conditions: Iterable<string>): string {
  const all = [...conditions];
  return all.length === 1 ? all[0]! : all.map((one) => `(${one})`).join(" || ");
}

/** The header has its tags with commas between them. With strict tags, all tags of both places have to be among these. */
function matching(tags: readonly string[], matchesAll: boolean): string {
  const one = `\\s*(${tags.map(literally).join("|")})\\s*`;
  const among = `tag in ${JSON.stringify(tags)}`;
  const isInHeader = (pattern: string): string => `${OF_THE_HEADER}.matches(${JSON.stringify(pattern)})`;
  return matchesAll
    ? `(${HAS_TAGS}) && (!has(request.metadata.tags) || request.metadata.tags.all(tag, ${among})) && (${OF_THE_HEADER} == "" || ${isInHeader(`^${one}(,${one})*$`)})`
    : `(has(request.metadata.tags) && request.metadata.tags.exists(tag, ${among})) || ${isInHeader(`(^|,)${one}(,|$)`)}`;
}

/** `tag_regex`: conditions on the user agent. With strict tags, a pattern counts only where the deployment has none. */
function patternsOf(
  deployment: Deployment,
  matchesAll: boolean,
  targets: () => readonly string[],
  claims: ImportContext["claims"],
): readonly string[] {
  const node = deployment.settings.get("tag_regex");
  if (matchesAll && tagsOf(deployment).length > 0) {
    claims.without(node, "with tag_filtering_match_any: false, only the tags of this deployment count there");
    return [];
  }
  return itemsOf(node).flatMap((item) => {
    const condition = `${USER_AGENT} != "" && ("User-Agent: " + ${USER_AGENT}).matches(${JSON.stringify(textOf(item) ?? "")})`;
    const isUsable = conditionProblem(condition) === null;
    if (!isUsable || textOf(item) === null) {
      claims.without(item, isUsable ? "expected a pattern" : NO_PATTERN);
      return [];
    }
    claims.taken(item, targets);
    return [condition];
  });
}

const NO_PATTERN = "the pattern cannot be used here: patterns are those of RE2, without lookaround and back references";
