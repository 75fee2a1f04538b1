// What a change of a document is as a JSON merge patch (RFC 7396), which the admin API and the command line take.

/** What the document of a configured object says, by the name of the field. */
export type Fields = Readonly<Record<string, unknown>>;

export const isFields = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value);

export function mergePatch(before: Fields, after: Fields): Fields {
  const removed = Object.keys(before).filter((name) => after[name] === undefined);
  const changed = Object.entries(after).flatMap(([name, value]) => {
    const old = before[name];
    if (JSON.stringify(old) === JSON.stringify(value)) return [];
    return [[name, isFields(old) && isFields(value) ? mergePatch(old, value) : value] as const];
  });
  return { ...Object.fromEntries(removed.map((name) => [name, null])), ...Object.fromEntries(changed) };
}
