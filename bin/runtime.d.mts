// The types of runtime.mjs, for the tests and scripts that use it.
export const packageFolder: string;
export function start(
  script: string,
  args: readonly string[],
  options?: { readonly development?: boolean; readonly withConsole?: boolean },
): void;
export function isolation(folder: string): string[];
export function environment(given: NodeJS.ProcessEnv): NodeJS.ProcessEnv;
export function bunProgram(folder: string): string | undefined;
export function isMusl(): boolean;
