// Addresses in place of those that an import cannot take over.

/** An address at which nobody answers; the domain is reserved for this (RFC 2606). */
export function nobodyAt(name: string): string {
  const host = name
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, "-")
    .replaceAll(/^-+|-+$/g, "")
    .slice(0, 60);
  return `https://${host === "" ? "unknown" : host}.invalid`;
}
