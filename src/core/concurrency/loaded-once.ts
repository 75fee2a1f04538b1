// Loads something at its first use and shares it with all users. When loading fails (for example because no file
// descriptors are left), the next use tries again.

export function loadedOnce<T>(load: () => Promise<T>): () => Promise<T> {
  let loading: Promise<T> | null = null;
  return () => {
    if (loading !== null) return loading;
    const begun = load();
    loading = begun;
    // callers that await the promise see the failure; this handler only allows another load
    begun.catch(() => {
      if (loading === begun) loading = null;
    });
    return begun;
  };
}
