import { stringify } from 'yaml'
import { freshWithinHours } from '#src/sync/explain/status.ts'
import { joinsOf, keyOf, type MartColumn, type MartView, mayBeNull } from './marts-catalogue.ts'

const heading =
  '# Written by `npm run marts` from the comments in sql/marts; do not edit. Fields are those of dbt 1.10.5 and newer.\n'

/** The name of the source in dbt by schema. */
const sourceNames: Readonly<Record<string, string>> = {
  mart: 'forecourt',
  mart_pii: 'forecourt_pii',
}

/** Views whose rows come from another stream than `evaluations`. */
const streams: Readonly<Record<string, string>> = {
  dim_user: 'users',
  dim_watch_status: 'vehicle-checks',
  fact_price_confirmation: 'pricing',
  fact_price_observation: 'pricing',
  fact_vehicle_check: 'vehicle-checks',
  fact_watch_status_change: 'vehicle-checks',
  watch_expiry: 'vehicle-checks',
}

/** The files of sql/bi/dbt that the comments of the views give, by their path in that folder. */
export function dbtFiles(version: string, views: readonly MartView[]): Map<string, string> {
  const project = {
    name: 'forecourt',
    version,
    'config-version': 2,
    'require-dbt-version': '>=1.10.5',
    profile: 'forecourt',
    'model-paths': ['models'],
    'macro-paths': ['macros'],
  }
  const sources = [...Map.groupBy(views, ({ schema }) => schema)].map(
    ([schema, own]) => [`models/${schema}.yml`, { sources: [sourceOf(schema, own)] }] as const,
  )
  return new Map(
    [['dbt_project.yml', project] as const, ...sources].map(([file, content]) => [
      file,
      heading + stringify(content, { lineWidth: 0 }),
    ]),
  )
}

function sourceOf(schema: string, views: readonly MartView[]): object {
  const name = sourceNames[schema]!
  const tables = views.map(tableOf)
  if (schema === 'mart')
    return {
      name,
      description: 'Vehicle appraisals, prices, checks and stock: the views that BI tools read.',
      schema: schemaOf(schema),
      tables,
    }
  return {
    name,
    description:
      'Customers, for logins of the role bi_pii_reader. Off unless the variable is true.',
    schema: schemaOf(schema),
    config: { enabled: `{{ var('forecourt_pii', false) }}` },
    tables,
  }
}

/** A tenant reads the same views in `mart_scoped`. */
function schemaOf(schema: string): string {
  return schema === 'mart' ? `{{ var('forecourt_schema', 'mart') }}` : schema
}

function tableOf(view: MartView): object {
  const { text, parts } = view.comment
  const key = keyOf(view)
  return {
    name: view.name,
    description: text,
    config: { ...freshnessOf(view), meta: parts },
    ...(key.length > 1
      ? { data_tests: [{ unique_together: { arguments: { columns: key } } }] }
      : {}),
    columns: view.columns.map((column) => columnOf(view, column)),
  }
}

function columnOf(view: MartView, column: MartColumn): object {
  const { name, type, comment } = column
  const { joins: _, ...meta } = comment.parts
  const tests = [...keyTests(view, column), ...relationships(view, name)]
  return {
    name,
    description: comment.text,
    data_type: type,
    config: { meta },
    ...(tests.length > 0 ? { data_tests: tests } : {}),
  }
}

function keyTests(view: MartView, column: MartColumn): string[] {
  const key = keyOf(view)
  if (!key.includes(column.name)) return []
  return [...(key.length === 1 ? ['unique'] : []), ...(mayBeNull(column) ? [] : ['not_null'])]
}

/** Another stream may store a check or a price before its evaluation is loaded: a warning. Everything else is stored together. */
function relationships(view: MartView, column: string): object[] {
  return joinsOf(view)
    .filter((join) => join.column === column)
    .map(({ toView, toColumn: field }) => ({
      relationships: {
        arguments: { to: `source('forecourt', '${toView}')`, field },
        config: {
          severity: toView === 'fact_evaluation' && view.name in streams ? 'warn' : 'error',
        },
      },
    }))
}

/** Of what is loaded, and not of the reports: they read the same tables, and a check of each reads them again. */
function freshnessOf({ schema, name, comment }: MartView): object {
  const [, named] =
    /last good run of (?:its rooftop|([\w-]+))/.exec(comment.parts['freshness'] ?? '') ?? []
  const isLoaded = /^(dim_|fact_)/.test(name) && / good run /.test(comment.parts['freshness'] ?? '')
  if (schema !== 'mart' || !isLoaded) return {}
  const stream = named ?? streams[name] ?? 'evaluations'
  return {
    freshness: {
      warn_after: { count: freshWithinHours, period: 'hour' },
      error_after: { count: freshWithinHours + 24, period: 'hour' },
    },
    // Of the rooftop of the config with the oldest good run; a rooftop without one is as old as can be.
    loaded_at_query: `select min(coalesce(last_good_run_at, 'epoch')) from ${schemaOf(schema)}.data_freshness where stream = '${stream}' and status <> 'retired'`,
  }
}
