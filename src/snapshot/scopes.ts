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

function scopesSection(title: string, noun: "tenant" | "project") {
  /** The section of the file under the same name, as a tenant or project has it. */
  const own = <Section extends z.ZodType>(section: Section, like: string, ownTitle: string, further = "") =>
    section.meta({
      title: ownTitle,
      description: `${ownTitle} of this ${noun}, as in \`${like}\`.${further === "" ? "" : ` ${further}`}`,
      like,
    });
  return z
    .record(
      z.string().regex(SCOPE_ID, "expected an id of 1 to 64 letters, digits, dashes, dots and underscores"),
      z
        .strictObject({
          settings: scopeSettingsSection(noun),
          routes: own(routesSection, "routes", "Routes", "They take precedence over wider ones with the same name."),
          route_defaults: routeDefaultsSection.meta({
            title: "Route defaults",
            description: `As in \`route_defaults\`, for all routes that this ${noun} uses.`,
            like: "route_defaults",
          }),
          prices: own(pricesSection, "prices", "Prices", "They take precedence over wider ones."),
          limits: own(limitsSection, "limits", "Limits"),
          budgets: own(budgetsSection, "budgets", "Budgets"),
          policies: own(policiesSection, "policies", "Policies", "They are evaluated after wider ones."),
          webhooks: own(webhooksSection, "webhooks", "Webhooks", `They get only the events of this ${noun}.`),
          tool_servers: own(
            toolServersSection,
            "tool_servers",
            "Tool servers",
            "They take precedence over wider ones with the same name.",
          ),
        })
        .prefault({}),
    )
    .transform(
      (file): ReadonlyMap<string, ScopeConfiguration> =>
        new Map(
          Object.entries(file).map(([id, { route_defaults: defaults, tool_servers: toolServers, ...same }]) => [
            id,
            { ...same, defaults, toolServers },
          ]),
        ),
    )
    .prefault({})
    .meta({
      title,
      description: `Settings, routes, prices, limits, budgets, policies, webhooks and tool servers of single ${title.toLowerCase()}, by id. They extend or override what the file sets for all; the ${title.toLowerCase()} themselves are stored in the database.`,
    });
}

export const tenantsSection = scopesSection("Tenants", "tenant");
export const projectsSection = scopesSection("Projects", "project");
