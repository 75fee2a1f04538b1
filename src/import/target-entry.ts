// A target of a route as it is written: the model alone where nothing else is to be said of it.
import type { Mapping, Value } from "./reference.ts";

/** `own` are the settings beside the model. Those that are undefined, and lists and mappings without members, are left out. */
export function targetEntry(model: string, own: Mapping): Value {
  const settings = Object.entries(own).filter(
    ([, value]) => value !== undefined && !(typeof value === "object" && Object.keys(value).length === 0),
  );
  return settings.length === 0 ? model : { model, ...Object.fromEntries(settings) };
}
