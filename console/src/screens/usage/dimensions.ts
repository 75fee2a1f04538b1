// By what usage can be summed.
export const DIMENSIONS: Readonly<Record<string, string>> = {
  project: "project",
  model: "model",
  route: "route",
  provider: "provider",
  token: "token",
  user: "user",
  end_user: "end user",
  operation: "operation",
  day: "day",
  tenant: "tenant",
};

const DEFAULT = ["project", "model"];

/** Of the URL: at most two that exist. */
export function dimensionsOf(text: string | null): readonly string[] {
  const known = (text ?? "").split(",").filter((name) => Object.hasOwn(DIMENSIONS, name));
  return known.length === 0 ? DEFAULT : [...new Set(known)].slice(0, 2);
}
