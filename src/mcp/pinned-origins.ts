// The checked address of each origin that a connection calls. It is resolved once, so that the address that was checked
// is the one that is called, and again when it could not be reached, because a name may have moved.

export type PinnedOrigins = ReturnType<typeof openPinnedOrigins>;

export function openPinnedOrigins(check: (url: string) => Promise<string>) {
  const known = new Map<string, Promise<string>>();
  return {
    /** Throws what the check throws; a failure is not cached. */
    of(url: string): Promise<string> {
      const { origin } = new URL(url);
      return known.getOrInsertComputed(origin, () => {
        const found = check(url);
        found.catch(() => known.delete(origin));
        return found;
      });
    },
    /** Called when the address could not be reached. */
    forget: (url: string) => void known.delete(new URL(url).origin),
  };
}
