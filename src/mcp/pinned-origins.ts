// The checked address of each origin that a connection calls, looked up once: what was checked is what is called. It is looked up again when it could not be
// reached, as a name may have moved.

export interface PinnedOrigins {
  /** Throws what the check throws, and then remembers nothing. */
  of(url: string): Promise<string>;
  /** It could not be reached. */
  forget(url: string): void;
}

export function openPinnedOrigins(check: (url: string) => Promise<string>): PinnedOrigins {
  const known = new Map<string, Promise<string>>();
  return {
    of(url) {
      const { origin } = new URL(url);
      const there = known.get(origin);
      if (there !== undefined) return there;
      const found = check(url);
      known.set(origin, found);
      found.catch(() => known.delete(origin));
      return found;
    },
    forget: (url) => void known.delete(new URL(url).origin),
  };
}
