// What is loaded with its first use, once for all who want it: a load that failed (no file descriptors were left, a file could not be read) is tried again by the next.

export function loadedOnce<T>(load: () => Promise<T>): () => Promise<T> {
  let loading: Promise<T> | null = null;
  return () => {
    if (loading !== null) return loading;
    const begun = load();
    loading = begun;
    // those who wait for it hear of the failure
    begun.catch(() => {
      if (loading === begun) loading = null;
    });
    return begun;
  };
}
