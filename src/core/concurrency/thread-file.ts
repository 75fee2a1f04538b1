// Finds the file of a worker thread: beside the module that starts it or, in a single executable (`bun build
// --compile`, with the file as an entry beside src/main.ts), below the root of the embedded files.
// https://bun.sh/docs/bundler/executables#worker

const INSIDE = /^file:\/\/\/(\$bunfs|[A-Z]:\/~BUN)\//;

/** Tells by the `import.meta.url` of a module whether it runs in a single executable. */
export const isEmbedded = (url: string): boolean => INSIDE.test(url);

/** `here` is `import.meta.url` of the module that starts the thread; `path` is relative to src/. */
export function threadFile(here: string, path: string): URL {
  return new URL(isEmbedded(here) ? `./${path}` : `./${path.slice(path.lastIndexOf("/") + 1)}`, here);
}
