// Addresses of Cohere's API, version 2. Some clients' base addresses end with the version, which must not be added twice.

export function versionedPath(baseUrl: string, path: string): string {
  return baseUrl.endsWith("/v2") ? `${baseUrl}/${path}` : `${baseUrl}/v2/${path}`;
}
