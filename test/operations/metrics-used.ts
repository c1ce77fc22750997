import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { parse } from 'yaml'
import { dashboards } from '../support/dashboards/all.ts'
import type { Family } from './exposition.ts'

/** A rule of Prometheus: it records a metric, or alerts. */
export interface Rule {
  readonly record?: string
  readonly alert?: string
  readonly expr: string
  readonly labels?: Readonly<Record<string, string>>
  readonly annotations?: Readonly<Record<string, string>>
}

export const prometheusFolder = fileURLToPath(new URL('../../.deploy/prometheus', import.meta.url))

/** The rules of a file of `.deploy/prometheus`. */
export function rulesOf(file: string): Rule[] {
  const { groups } = parse(readFileSync(`${prometheusFolder}/${file}`, 'utf8')) as {
    groups: { rules: Rule[] }[]
  }
  return groups.flatMap(({ rules }) => rules)
}

/** A query of a panel. */
export interface DrawnQuery {
  readonly panel: string
  readonly expression: string
  readonly legend: string
}

/** Every query of the dashboards, with the name of its panel. */
export function drawnQueries(): DrawnQuery[] {
  return Object.values(dashboards).flatMap(({ title: dashboard, rows }) =>
    rows.flatMap(({ panels }) =>
      panels.flatMap(({ title, queries }) =>
        queries.map(([expression, legend]) => ({
          panel: `${dashboard}, ${title}`,
          ...{ expression, legend },
        })),
      ),
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
