// The id that is proposed for a new tenant or project, from its name.
const LONGEST = 64;

/** Letters, digits and dashes, as the gateway takes them; empty where the name has none of them. */
export function proposedId(name: string): string {
  return name
    .normalize("NFKD")
    .replaceAll(/\p{Mark}/gu, "")
    .toLowerCase()
    .replaceAll(/[^a-z0-9_.-]+/g, "-")
    .replaceAll(/^[^a-z0-9]+/g, "")
    .slice(0, LONGEST)
    .replaceAll(/-+$/g, "");
}
