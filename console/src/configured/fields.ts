// What the document of a configured object says, by the name of the field.
export type Fields = Readonly<Record<string, unknown>>;
