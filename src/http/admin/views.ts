// Saved views of the console: what a screen shows (filter, range, columns) under a name, of one person or of a project.
import { z } from "zod";
import { nothingThere } from "../../auth/grants.ts";
import { makerOf } from "../../core/identity.ts";
import { newSpanId } from "../../core/ids.ts";
import type { JsonObject } from "../../core/json.ts";
import { camelCased } from "../../core/text/camel-case.ts";
import { digestOf } from "../../core/text/digest.ts";
import type { SavedView, ViewOwner } from "../../store/configuration/views.ts";
import { type AdminCall, type AdminOperation, reading, writing } from "./operation.ts";
import { etagField, label, listed, listOf, pageOf, pageQuery, requireTag, time } from "./schemas.ts";
import { shownAs } from "./shown.ts";

const screen = z
  .string()
  .regex(/^[a-z][a-z-]{0,39}$/, "expected the name of a screen such as calls")
  .meta({ description: "The screen of the console, as it stands in the path: `calls`." });
const query = z
  .string()
  .max(2000)
  .regex(/^[^\p{Cc}#?]*$/u, "expected the query of an address, such as q=status:429&range=7d")
  .meta({ description: "The query of the screen's address, such as `q=status:429&range=7d`." });
const isDefault = z
  .boolean()
  .meta({ description: "Whether the screen begins with it where its address says nothing else. One view may." });

const view = z
  .strictObject({
    id: z.string(),
    screen,
    name: label,
    query,
    is_default: isDefault,
    project_id: z.string().nullable().meta({ description: "Null for a view of the caller." }),
    created_by: z.string().meta({ description: "Id of the user who made it, or `token:` and the id of a token." }),
    created_at: time,
    etag: etagField,
  })
  .meta({ id: "View" });
const newView = z
  .strictObject({ screen, name: label, query, is_default: isDefault.default(false) })
  .meta({ id: "NewView" });
const viewChange = z
  .strictObject({ name: label.optional(), query: query.optional(), is_default: isDefault.optional() })
  .meta({ id: "ViewChange" });

/** Equal states have equal ETags, because a view has nothing but what it shows. */
function etagOfView({ name, query: text, isDefault: is }: SavedView): string {
  return `"${digestOf([name, text, is])}"`;
}

const shownView = (saved: SavedView): JsonObject =>
  shownAs(view, { ...saved, projectId: saved.owner.projectId, etag: etagOfView(saved) });

type Call = Pick<AdminCall, "caller" | "place">;

interface ViewReach {
  readonly word: "" | "Project";
  readonly base: string;
  readonly whose: string;
  readonly ownerOf: (call: Call) => ViewOwner;
}

const REACHES: readonly ViewReach[] = [
  {
    word: "",
    base: "/views",
    whose: "of the caller",
    // a project token that is used by itself has views of its own
    ownerOf: ({ caller: { token } }) => ({ tenantId: token.tenantId, projectId: null, userId: makerOf(token) }),
  },
  {
    word: "Project",
    base: "/projects/{project}/views",
    whose: "of the project, for everybody in it",
    ownerOf: ({ place }) => ({ tenantId: place!.tenantId, projectId: place!.projectId!, userId: null }),
  },
];

function operationsOf({ word, base, whose, ownerOf }: ViewReach): readonly AdminOperation[] {
  return [
    reading({
      id: `list${word}Views`,
      path: base,
      tag: "views",
      summary: `List the saved views of the console's screens ${whose}`,
      query: z.strictObject({ ...pageQuery, screen: screen.optional() }),
      answer: listOf(view, `${word}ViewList`),
      run: async (call, store) => {
        const page = await store.listViews(pageOf(call.query), { owner: ownerOf(call), screen: call.query.screen });
        return { body: listed(page, shownView) };
      },
    }),
    writing({
      method: "post",
      id: `create${word}View`,
      path: base,
      tag: "views",
      summary: `Save a view of a screen ${whose}`,
      body: newView,
      answer: view,
      run: async (call, writer) => {
        const { body, caller, nowMs } = call;
        const made: SavedView = {
          id: `viw_${newSpanId()}`,
          owner: ownerOf(call),
          ...camelCased(body),
          createdBy: makerOf(caller.token),
          createdAtMs: nowMs,
        };
        await writer.createView(made);
        return { status: 201, body: shownView(made), etag: etagOfView(made) };
      },
    }),
    writing({
      method: "patch",
      id: `update${word}View`,
      path: `${base}/{id}`,
      tag: "views",
      summary: `Rename or change a saved view ${whose}`,
      body: viewChange,
      answer: view,
      run: async (call, writer) => {
        const { body, ifMatch, params } = call;
        const changed = await writer.changeView(params["id"]!, ownerOf(call), (current) => {
          requireTag(ifMatch, etagOfView(current));
          return camelCased(body);
        });
        if (changed === null) throw nothingThere(`view ${params["id"]!}`);
        return { body: shownView(changed), etag: etagOfView(changed) };
      },
    }),
    writing({
      method: "delete",
      id: `delete${word}View`,
      path: `${base}/{id}`,
      tag: "views",
      summary: `Delete a saved view ${whose}`,
      run: async (call, writer) => {
        const id = call.params["id"]!;
        const removed = await writer.removeView(id, ownerOf(call));
        if (removed === null) throw nothingThere(`view ${id}`);
        // what throws here takes the removal back
        requireTag(call.ifMatch, etagOfView(removed));
        return { body: null };
      },
    }),
  ];
}

export const VIEW_OPERATIONS: readonly AdminOperation[] = REACHES.flatMap(operationsOf);
