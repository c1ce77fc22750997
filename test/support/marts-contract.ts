import { stringify } from 'yaml'
import { joinsOf, keyOf, type MartColumn, type MartView, mayBeNull } from './marts-catalogue.ts'

const heading =
  '# Written by `npm run marts` from the comments in sql/marts; do not edit. Open Data Contract Standard 3.1.\n'

/** sql/bi/contract/forecourt.odcs.yaml: the views of `mart` as an Open Data Contract, from the comments that also give the dbt package. */
export function contractFile(version: string, views: readonly MartView[]): string {
  const contract = {
    apiVersion: 'v3.1.0',
    kind: 'DataContract',
    id: 'forecourt-mart',
    name: 'Forecourt marts',
    version,
    status: 'active',
    description: {
      purpose: 'Vehicle appraisals, prices, checks and stock: the views that BI tools read.',
      usage: 'With a login of the role bi_reader. Money is in the currency_code of its row.',
    },
    servers: [
      {
        ...{ server: 'warehouse', type: 'postgres', host: 'localhost', port: 5432 },
        ...{ database: 'forecourt', schema: 'mart' },
      },
    ],
    schema: views.filter(({ schema }) => schema === 'mart').map(schemaObject),
  }
  return heading + stringify(contract, { lineWidth: 0 })
}

function schemaObject(view: MartView): object {
  const { text, parts } = view.comment
  const key = keyOf(view)
  // Columns of a primary key are never null: a key with a column that may be null is not one.
  const isPrimary = key.length > 0 && key.every((name) => !mayBeNull(columnOf(view, name)))
  return {
    ...{ name: view.name, logicalType: 'object', physicalType: 'view', description: text },
    dataGranularityDescription: parts['grain'],
    properties: view.columns.map((column) => property(view, column, isPrimary ? key : [])),
  }
}

function property(view: MartView, column: MartColumn, key: readonly string[]): object {
  const { name, type, comment } = column
  const { unit, source } = comment.parts
  const at = key.indexOf(name)
  return {
    ...{ name, logicalType: logicalType(type), physicalType: type, description: comment.text },
    ...(at < 0 ? {} : { primaryKey: true, primaryKeyPosition: at + 1 }),
    ...(at < 0 && keyOf(view).includes(name) && !mayBeNull(column) ? { required: true } : {}),
    ...(at < 0 && keyOf(view).join() === name ? { unique: true } : {}),
    ...relationships(view, name),
    customProperties: [
      { property: 'unit', value: unit },
      { property: 'source', value: source },
    ],
  }
}

/** Another stream may store a check or a price before its evaluation is loaded, so no join to an evaluation is promised. */
function relationships(view: MartView, column: string): object {
  const joins = joinsOf(view).filter(
    (join) => join.column === column && join.toView !== 'fact_evaluation',
  )
  if (joins.length === 0) return {}
  return { relationships: joins.map(({ toView, toColumn }) => ({ to: `${toView}.${toColumn}` })) }
}

function logicalType(type: string): string {
  if (/^character/.test(type)) return 'string'
  if (/^(small|big)?int/.test(type)) return 'integer'
  if (/^numeric/.test(type)) return 'number'
  if (/^timestamp/.test(type)) return 'timestamp'
  return type
}

const columnOf = (view: MartView, name: string) =>
  view.columns.find((column) => column.name === name)!
