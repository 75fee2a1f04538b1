// Names with underscores, as columns and members of bodies have them, in the spelling of this source, and back.

export type CamelCase<Name extends string> = Name extends `${infer Head}_${infer Tail}`
  ? `${Head}${Capitalize<CamelCase<Tail>>}`
  : Name;

export const camelCase = <Name extends string>(name: Name): CamelCase<Name> =>
  name.replaceAll(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase()) as CamelCase<Name>;

export type CamelCased<Of> = {
  readonly [Name in keyof Of as CamelCase<Name & string>]: Exclude<Of[Name], undefined>;
};

/** The object with the names of its members in camel case. What is undefined is left out. */
export const camelCased = <Of extends object>(of: Of): CamelCased<Of> => renamed(of, camelCase) as CamelCased<Of>;

export type SnakeCase<Name extends string> = Name extends `${infer Head}${infer Tail}`
  ? `${Head extends Lowercase<Head> ? Head : `_${Lowercase<Head>}`}${SnakeCase<Tail>}`
  : Name;

export type SnakeCased<Of> = {
  readonly [Name in keyof Of as SnakeCase<Name & string>]: Exclude<Of[Name], undefined>;
};

/** The object with underscores in the names of its members. What is undefined is left out. */
export const snakeCased = <Of extends object>(of: Of): SnakeCased<Of> =>
  renamed(of, (name) => name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)) as SnakeCased<Of>;

function renamed(of: object, rename: (name: string) => string): object {
  const members = Object.entries(of).filter(([, value]) => value !== undefined);
  return Object.fromEntries(members.map(([name, value]: [string, unknown]) => [rename(name), value]));
}
