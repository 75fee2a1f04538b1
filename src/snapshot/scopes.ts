// The sections `tenants:` and `projects:`: the configuration of single tenants and projects, by id.
import { z } from "zod";
import { type PriceDocument, pricesSection } from "../accounting/price-settings.ts";
import { type BudgetDocument, budgetsSection, type LimitDocument, limitsSection } from "../admission/settings.ts";
import { type PolicyDocument, policiesSection } from "../policies/policy-settings.ts";
import { scopeSettingsSection } from "../auth/settings/scope-settings.ts";
import { SCOPE_ID } from "../config/sections.ts";
import type { ScopeSettings } from "../core/snapshot.ts";
import type { RouteScope } from "../routing/compile-routes.ts";
import { type WebhookDocument, webhooksSection } from "../observe/webhooks/webhook-settings.ts";
import { type ToolServerDocument, toolServersSection } from "../mcp/settings.ts";
import { routeDefaultsSection, routesSection } from "../routing/settings.ts";

export interface ScopeConfiguration extends RouteScope {
  readonly settings: ScopeSettings;
  /** By name. */
  readonly prices: Readonly<Record<string, PriceDocument>>;
  readonly limits: Readonly<Record<string, LimitDocument>>;
  readonly budgets: Readonly<Record<string, BudgetDocument>>;
  readonly policies: Readonly<Record<string, PolicyDocument>>;
  readonly webhooks: Readonly<Record<string, WebhookDocument>>;
  readonly toolServers: Readonly<Record<string, ToolServerDocument>>;
}

const scopesSection = (title: string, noun: "tenant" | "project") =>
  z
    .record(
      z.string().regex(SCOPE_ID, "expected an id of 1 to 64 letters, digits, dashes, dots and underscores"),
      z
        .strictObject({
          settings: scopeSettingsSection(noun),
          routes: routesSection.meta({
            title: "Routes",
            description: `Routes of this ${noun}, as in \`routes\`. They take precedence over wider ones with the same name.`,
            like: "routes",
          }),
          route_defaults: routeDefaultsSection.meta({
            title: "Route defaults",
            description: `As in \`route_defaults\`, for all routes that this ${noun} uses.`,
            like: "route_defaults",
          }),
          prices: pricesSection.meta({
            title: "Prices",
            description: `Prices of this ${noun}, as in \`prices\`. They take precedence over wider ones.`,
            like: "prices",
          }),
          limits: limitsSection.meta({
            title: "Limits",
            description: `Limits of this ${noun}, as in \`limits\`.`,
            like: "limits",
          }),
          budgets: budgetsSection.meta({
            title: "Budgets",
            description: `Budgets of this ${noun}, as in \`budgets\`.`,
            like: "budgets",
          }),
          policies: policiesSection.meta({
            title: "Policies",
            description: `Policies of this ${noun}, as in \`policies\`. They are evaluated after wider ones.`,
            like: "policies",
          }),
          webhooks: webhooksSection.meta({
            title: "Webhooks",
            description: `Webhooks of this ${noun}, as in \`webhooks\`. They get only the events of this ${noun}.`,
            like: "webhooks",
          }),
          tool_servers: toolServersSection.meta({
            title: "Tool servers",
            description: `Tool servers of this ${noun}, as in \`tool_servers\`. They take precedence over wider ones with the same name.`,
            like: "tool_servers",
          }),
        })
        .prefault({}),
    )
    .transform(
      (file): ReadonlyMap<string, ScopeConfiguration> =>
        new Map(
          Object.entries(file).map(([id, { route_defaults: defaults, tool_servers: toolServers, ...own }]) => [
            id,
            { ...own, defaults, toolServers },
          ]),
        ),
    )
    .prefault({})
    .meta({
      title,
      description: `Settings, routes, prices, limits, budgets, policies, webhooks and tool servers of single ${title.toLowerCase()}, by id. They extend or override what the file sets for all; the ${title.toLowerCase()} themselves are stored in the database.`,
    });

export const tenantsSection = scopesSection("Tenants", "tenant");
export const projectsSection = scopesSection("Projects", "project");
