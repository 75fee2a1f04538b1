// A kind of configured object that the console shows as a list, a page and an editor: routes, policies, tool servers, prices.
import type { ComponentType } from "react";
import type { DataColumn } from "../components/data-table.tsx";
import type { Fields } from "./merge-patch.ts";
import type { YamlText } from "./yaml-text.ts";

/** As the admin API answers; what else it holds are the fields of the document. */
export interface ConfiguredObject {
  readonly id: string;
  readonly name: string;
  readonly tenant_id: string | null;
  readonly project_id: string | null;
  readonly origin: "file" | "store";
  readonly set_by: string | null;
  readonly version: number;
  readonly etag: string | null;
  readonly created_at: string | null;
  readonly updated_at: string | null;
  readonly [field: string]: unknown;
}

/** What a part of the page of an object gets. */
export interface ObjectProps {
  readonly noun: Noun;
  readonly object: ConfiguredObject;
  /** Of the object in the admin API. */
  readonly path: string;
}

export interface FormProps {
  readonly fields: Fields;
  /** Changes the text under the form; comments and what the form does not show stay. */
  readonly edit: (change: (text: YamlText) => YamlText) => void;
  readonly isReadOnly: boolean;
}

export interface SimulationProps extends FormProps {
  /** Of the object in the admin API. */
  readonly path: string;
  /** Whether the fields differ from what is published. */
  readonly isChanged: boolean;
}

export interface Noun {
  /** In paths of the admin API, such as `tool_servers`. */
  readonly plural: string;
  /** The path of the screen, such as `/tools`. */
  readonly screen: string;
  /** For sentences, such as `tool server`. */
  readonly one: string;
  readonly many: string;
  /** On the command line, such as `tool-server`. */
  readonly command: string;
  /** In ids of operations, such as `ToolServer` of `replaceProjectToolServer`. */
  readonly operation: string;
  readonly columns: readonly DataColumn<ConfiguredObject>[];
  /** What a new one begins with, in YAML. */
  readonly template: string;
  /** A sentence about the purpose of this kind of object, shown while a list of them is empty. */
  readonly purpose: string;
  readonly Form: ComponentType<FormProps>;
  /** What is beside the editor of one that exists. */
  readonly Beside?: ComponentType<{ readonly object: ConfiguredObject }>;
  /** It has drafts, notes, versions of its own, and a way back to each of them. */
  readonly isVersioned?: true;
  /** What is beside the draft while one edits: what the change would do. */
  readonly Simulation?: ComponentType<SimulationProps>;
  /** What its mirror has shown; a tab where the object has one. */
  readonly Comparison?: ComponentType<{ readonly path: string }>;
  /** Sentences about a change that say more than its fields do. */
  readonly words?: (before: Fields, after: Fields) => readonly string[];
}

const KEPT_BY_THE_API: ReadonlySet<string> = new Set([
  "id",
  "name",
  "tenant_id",
  "project_id",
  "origin",
  "set_by",
  "version",
  "etag",
  "created_at",
  "updated_at",
  "read_only_fields",
]);

/** What the document says; the rest is the gateway's own. */
export function fieldsOf(object: ConfiguredObject): Fields {
  return Object.fromEntries(Object.entries(object).filter(([name]) => !KEPT_BY_THE_API.has(name)));
}

/** Where the object stands in the configuration file, such as `tenants`, `acme`, `routes`, `chat`. */
export function filePlace({ plural }: Pick<Noun, "plural">, object: ConfiguredObject): readonly string[] {
  const { tenant_id: tenant, project_id: project, name } = object;
  const scope = project !== null ? ["projects", project] : tenant !== null ? ["tenants", tenant] : [];
  return [...scope, plural, name];
}
