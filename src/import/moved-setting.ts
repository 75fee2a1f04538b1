// A setting of ours that is made of one value of the other gateway's file.
import type { Section } from "./draft.ts";
import type { ForeignNode } from "./foreign-file.ts";
import type { ImportContext } from "./gateway-import.ts";
import type { Value } from "./reference.ts";

/** Sets it and reports so; does neither where the node has no such value. `how` says how it differs, `null` when it does not. */
export function moveSetting(
  node: ForeignNode | undefined,
  [section, ...path]: readonly [Section, ...string[]],
  value: Value | null,
  how: string | null,
  { claims, draft }: ImportContext,
): void {
  if (value === null) return;
  draft.set(section, path, value);
  claims.moved(node, [section, ...path].join("."), how);
}
