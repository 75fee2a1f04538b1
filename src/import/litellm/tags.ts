// Tags of LiteLLM's deployments, by which calls are divided where `enable_tag_filtering` is on, as conditions of targets.
// https://docs.litellm.ai/docs/proxy/tag_routing
import { isOn, textOf } from "../figures.ts";
import type { ImportContext } from "../gateway-import.ts";
import type { Deployment } from "./deployment.ts";

/** Deployments with this tag take the calls that no other tag is for. */
const DEFAULT_TAG = "default";
const HAS_TAGS = "has(request.metadata.tags)";
const HOW = "tags in the metadata of a call count, and its header x-litellm-tags does not";

/** Returns the conditions of those deployments of one name that are not for all calls. */
export function tagConditions(
  deployments: readonly Deployment[],
  route: string,
  { claims, foreign }: Pick<ImportContext, "claims" | "foreign">,
): ReadonlyMap<Deployment, string> {
  const router = foreign.root.members.get("router_settings")?.members;
  const given = deployments.filter(({ settings }) => settings.has("tags"));
  if (!isOn(router?.get("enable_tag_filtering"))) {
    for (const { settings } of given)
      claims.without(settings.get("tags"), "without enable_tag_filtering, tags decide nothing there");
    return new Map();
  }
  const matchesAll = router?.has("tag_filtering_match_any") === true && !isOn(router.get("tag_filtering_match_any"));
  const tagged = deployments.filter((each) => tagsOf(each).length > 0 && !tagsOf(each).includes(DEFAULT_TAG));
  if (tagged.length === 0) return new Map();
  const matches = new Map(tagged.map((each) => [each, matching(tagsOf(each), matchesAll)]));
  const hasDefault = tagged.length < deployments.length;
  const otherwise = `!${HAS_TAGS} || !(${[...new Set(matches.values())].join(" || ")})`;
  const targets = (): readonly string[] => [`routes.${route}.targets`];
  for (const { settings } of given) claims.changed(settings.get("tags"), targets, HOW);
  for (const name of ["enable_tag_filtering", "tag_filtering_match_any"])
    claims.changed(router?.get(name), targets, "targets have conditions: docs/routes.md#conditions");
  return new Map(
    deployments.map((each) => {
      const match = matches.get(each);
      if (match === undefined) return [each, otherwise];
      return [each, hasDefault ? `${HAS_TAGS} && ${match}` : `!${HAS_TAGS} || ${match}`];
    }),
  );
}

function tagsOf({ settings }: Deployment): readonly string[] {
  return (settings.get("tags")?.items ?? []).flatMap((item) => textOf(item) ?? []);
}

function matching(tags: readonly string[], matchesAll: boolean): string {
  return `request.metadata.tags.${matchesAll ? "all" : "exists"}(tag, tag in ${JSON.stringify(tags)})`;
}
