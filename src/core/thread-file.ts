// Where the file of a thread is: beside the one that begins it, or, in a single executable (`bun build --compile`, with the file as an entry beside src/main.ts), below
// the root of all files. https://bun.sh/docs/bundler/executables#worker

const INSIDE = /^file:\/\/\/(\$bunfs|[A-Z]:\/~BUN)\//;

/** `here`: `import.meta.url` of who begins it; `path`: from src/. */
export function threadFile(here: string, path: string): URL {
  return new URL(INSIDE.test(here) ? `./${path}` : `./${path.slice(path.lastIndexOf("/") + 1)}`, here);
}
