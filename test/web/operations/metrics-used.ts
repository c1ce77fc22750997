import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { parse } from 'yaml'
import type { Family } from './exposition.ts'

/** A rule of Prometheus: it records a metric, or alerts. */
export interface Rule {
  readonly record?: string
  readonly alert?: string
  readonly expr: string
  readonly labels?: Readonly<Record<string, string>>
  readonly annotations?: Readonly<Record<string, string>>
}

export const prometheusFolder = fileURLToPath(
  new URL('../../../.deploy/prometheus', import.meta.url),
)

/** The rules of a file of `.deploy/prometheus`. */
export function rulesOf(file: string): Rule[] {
  const { groups } = parse(readFileSync(`${prometheusFolder}/${file}`, 'utf8')) as {
    groups: { rules: Rule[] }[]
  }
  return groups.flatMap(({ rules }) => rules)
}

const grafanaFolder = fileURLToPath(new URL('../../../.deploy/grafana', import.meta.url))

/** A panel of a dashboard; of type row: a heading. */
export interface Panel {
  readonly id: number
  readonly type: string
  readonly title: string
  readonly description?: string
  readonly gridPos: { x: number; y: number; w: number; h: number }
  readonly targets?: readonly {
    readonly refId: string
    readonly expr: string
    readonly legendFormat?: string
  }[]
  readonly fieldConfig: {
    readonly defaults: { readonly unit?: string }
    readonly overrides?: readonly {
      readonly matcher: { readonly id: string; readonly options: string }
      readonly properties: readonly { readonly id: string; readonly value: unknown }[]
    }[]
  }
}

/** The dashboards of `.deploy/grafana`. */
export const dashboards = readdirSync(grafanaFolder).map(
  (file) =>
    JSON.parse(readFileSync(`${grafanaFolder}/${file}`, 'utf8')) as {
      readonly title: string
      readonly panels: readonly Panel[]
    },
)

/** A query of a panel. */
export interface DrawnQuery {
  readonly panel: string
  readonly expression: string
  readonly legend: string
}

/** Every query of the dashboards, with the name of its panel. */
export function drawnQueries(): DrawnQuery[] {
  return dashboards.flatMap(({ title: dashboard, panels }) =>
    panels.flatMap(({ title, targets = [] }) =>
      targets.map(({ expr, legendFormat = '' }) => ({
        panel: `${dashboard}, ${title}`,
        ...{ expression: expr, legend: legendFormat },
      })),
    ),
  )
}

/** The metrics of an expression: names of ours, of Node, of the process, and recorded ones. Label names never begin so. */
export function metricsIn(expression: string): string[] {
  const bare = expression.replaceAll(/"[^"]*"/g, '""')
  return [...bare.matchAll(/(?:\w+:)?\b(?:forecourt|nodejs|process)_\w+(?::\w+)*/g)].map(
    ([name]) => name,
  )
}

/** The names that a query may use: those of the families, and of the parts of histograms. */
export function queryNames(families: ReadonlyMap<string, Family>): Set<string> {
  const names = [...families].flatMap(([name, { series }]) => [
    ...(series.size > 0 ? [name] : []),
    ...[...series.keys()].map((key) => key.replace(/\{.*/, '')),
  ])
  return new Set(names)
}
