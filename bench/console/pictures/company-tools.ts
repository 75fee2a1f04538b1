// The tools of the made company's servers, as their lists say them. None is run.
import type { ToolServers } from "../../../src/mcp/tool-servers.ts";
import type { ToolDefinition } from "../../../src/core/configured/tool.ts";

const text = { type: "string" };
const TOOLS: Readonly<Record<string, readonly ToolDefinition[]>> = {
  bookings: [
    {
      name: "find_booking",
      title: "Find a booking",
      description: "Looks a booking up by its number, or by the name and the day of departure.",
      inputSchema: { type: "object", properties: { number: text, name: text, day: text } },
    },
    {
      name: "find_connection",
      title: "Find a connection",
      description: "Trains and ferries between two places after a time.",
      inputSchema: { type: "object", properties: { from: text, to: text, after: text }, required: ["from", "to"] },
    },
    {
      name: "change_seat",
      title: "Change a seat",
      description: "Moves a traveller to another free seat of the same train.",
      inputSchema: { type: "object", properties: { number: text, seat: text }, required: ["number", "seat"] },
    },
  ],
  weather: [
    {
      name: "forecast",
      title: null,
      description: "The weather of the next days at a place.",
      inputSchema: { type: "object", properties: { place: text }, required: ["place"] },
    },
  ],
};

export const toolServersOfCompany: ToolServers = {
  list: ({ label }) => Promise.resolve(TOOLS[label] ?? []),
  call: () => Promise.reject(new Error("no tool is run for pictures")),
  test: ({ label }) =>
    Promise.resolve({
      transport: "streamable_http",
      protocolVersion: "2025-11-25",
      name: `kestrel-${label}`,
      version: "2.3.1",
      connectMs: 84,
      listMs: 31,
      tools: TOOLS[label]?.length ?? 0,
    }),
  onListChanged: () => () => {},
  configured: () => {},
  close: () => Promise.resolve(),
};
